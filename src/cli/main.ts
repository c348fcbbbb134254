import { Command, CommanderError } from 'commander'
import { addHelpVerbs, HELP } from './help.js'
import { refuseOnHub } from './hub/refuse.js'
import { type CliDeps, type CliIo, oneLine } from './io.js'
import { addServeCommand } from './serving/serve.js'

/** Exit codes, which scripts may rely on. */
const OK = 0
const FAILED = 1
const WRONG_USAGE = 2
const SERVE = 'serve'
/** Options that may stand before the verb, and those of them whose value is the next argument. */
const GLOBAL_OPTION = /^--(?:json$|(?:config|data-dir)(?:=|$))/
const WITH_VALUE = /^--(?:config|data-dir)$/

/**
 * Runs one verb. An error is written to stderr as one line that says what to do; nothing is thrown.
 *
 * @param argv arguments after the program's name
 * @returns exit code: 0 ok, 1 failed, 2 wrong usage
 */
export async function runCli(argv: readonly string[], io: CliIo, deps: CliDeps): Promise<number> {
  let exitCode = OK
  const verbIo: CliIo = {
    ...io,
    setExitCode(code) {
      exitCode = code
    },
  }
  const words = wordsOf(argv)
  let program: Command | undefined
  try {
    program = await createProgram(verbIo, deps, words[0])
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    exitCode = exitCodeOf(error)
    if (exitCode !== OK) io.stderr.write(`fieldgate: ${lineOf(error, helpOf(program, words))}\n`)
  }
  io.setExitCode(exitCode)
  return exitCode
}

/** A verb as the documentation lists it. */
interface VerbFacts {
  usage: string
  description: string
  options: { flags: string; description: string }[]
}

/** Lists all verbs with their usage, for docs/verbs.md and the man page. */
export async function listVerbs(io: CliIo, deps: CliDeps): Promise<VerbFacts[]> {
  const optionsOf = (command: Command) =>
    command.options.map(({ flags, description }) => ({ flags, description }))
  const leaves = (command: Command, prefix: string): VerbFacts[] =>
    command.commands.flatMap((child) => {
      if (child.name() === HELP) return []
      const name = `${prefix}${child.name()}`
      if (child.commands.length > 0) return leaves(child, `${name} `)
      const usage = `${name} ${child.usage()}`
      return [{ usage, description: child.description(), options: optionsOf(child) }]
    })
  return leaves(await createProgram(io, deps), '')
}

/** @param verb the verb that will run; undefined for all of them */
async function createProgram(io: CliIo, deps: CliDeps, verb?: string): Promise<Command> {
  const program = new Command('fieldgate')
    .description('Data gateway for small devices in the field')
    .option(
      '--config <file>',
      'settings file (default: FIELDGATE_CONFIG, or ./edge.config.json if it exists)',
    )
    .option('--data-dir <dir>', 'data directory of the gateway')
    .option('--json', 'print results as JSON')
    .version(deps.version, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    // runCli writes errors, as one line
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: ignore, outputError: ignore })
  addServeCommand(program, io, deps)
  // the code of the other verbs is not loaded by a gateway: on a board, memory counts
  if (verb !== SERVE) (await import('./verbs.js')).addVerbs(program, io, deps)
  addHelpVerbs(program)
  program.hook('preAction', (_program, command) => refuseOnHub(command, deps))
  return program
}

/** Returns the arguments from the verb on: behind the global options that stand before it, and their values. */
function wordsOf(argv: readonly string[]): readonly string[] {
  let at = 0
  while (at < argv.length && GLOBAL_OPTION.test(argv[at] ?? '')) at += WITH_VALUE.test(argv[at] ?? '') ? 2 : 1
  return argv.slice(at)
}

function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return FAILED
  const isAnswer = error.code === 'commander.helpDisplayed' || error.code === 'commander.version'
  return isAnswer || (error.code === 'commander.help' && error.exitCode === OK) ? OK : WRONG_USAGE
}

/** @param help call that prints the usage of the verb */
function lineOf(error: unknown, help: string): string {
  if (!(error instanceof CommanderError)) return oneLine(error)
  if (error.code === 'commander.help') return `expected a verb; \`${help}\` lists them`
  const line = oneLine(error)
  return error.code === 'fieldgate.usage' ? line : `${line.replace(/\.$/, '')}; see \`${help}\``
}

/** Call that prints the usage of the verb which the first words name. @param program undefined where it cannot be loaded */
function helpOf(program: Command | undefined, words: readonly string[]): string {
  const names: string[] = []
  let command = program
  for (const word of program === undefined ? [] : words) {
    command = command?.commands.find((child) => child.name() === word)
    if (command === undefined || word === HELP) break
    names.push(word)
  }
  return ['fieldgate', HELP, ...names].join(' ')
}

function ignore(): void {
  // commander throws an error with the same text, which runCli writes
}
