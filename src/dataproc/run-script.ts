/** Verb of the single executable that runs a script: the executable takes no files as Node does. */
export const RUN_SCRIPT = 'run-script'
