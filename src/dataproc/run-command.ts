import type { ModuleCall } from './call.js'
import { isNodeScript } from './catalog.js'
import type { Command, Isolation, RunDirs } from './isolation.js'
import { RUN_MARK } from './process-table.js'
import type { ProcessLimits } from './run-process.js'

export interface CommandDeps {
  /** what runs .js and .ts files, the file itself left out */
  readonly node: Command
  /** where programs are looked for, by the gateway and by modules */
  readonly searchPath: string
  readonly limits: ProcessLimits
}

/** The command of a script, within the kernel's limits and the walls. */
export function commandOf(
  script: { file: string; args: readonly string[] },
  dirs: RunDirs,
  isolation: Isolation,
  deps: CommandDeps,
): Command {
  const plain = scriptCommand(deps.node, script.file, script.args)
  return isolation.wrap(limited(plain, deps, isolation), dirs)
}

/** All that a run knows of its surroundings: nothing of the gateway's own environment but the search path. */
export function environmentOf(
  runId: string,
  { module, method, params }: ModuleCall,
  { root, work, module: moduleDir }: RunDirs,
  { searchPath }: CommandDeps,
): Record<string, string> {
  return {
    PATH: searchPath,
    HOME: work,
    TMPDIR: work,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    [RUN_MARK]: runId,
    DATAPROC_RUN_DIR: root,
    DATAPROC_MODULE_DIR: moduleDir,
    DATAPROC_MODULE: module,
    DATAPROC_METHOD: method,
    ...paramsAsEnv(params),
  }
}

function scriptCommand(node: Command, file: string, args: readonly string[]): Command {
  return isNodeScript(file) ? { file: node.file, args: [...node.args, file, ...args] } : { file, args }
}

/** Node has a dozen threads, and the kernel counts each. */
const THREADS_PER_PROCESS = 16

/**
 * The kernel's own limits, where the program that sets them is there: nothing else is as quick. The number of processes is
 * counted for each namespace, and without one for everything of this user: there it would hit the gateway.
 */
function limited({ file, args }: Command, { limits }: CommandDeps, { prlimit, kind }: Isolation): Command {
  if (prlimit === undefined) return { file, args }
  const nproc = kind === 'none' ? [] : [`--nproc=${limits.maxProcesses * THREADS_PER_PROCESS}`]
  return { file: prlimit, args: [`--fsize=${limits.diskBytes}`, '--core=0', ...nproc, '--', file, ...args] }
}

const MAX_ENV_CHARS = 10_000

/** Plain params for scripts that read no JSON: `DATAPROC_PARAM_name`. The prefix keeps them from meaning anything else. */
function paramsAsEnv(params: Readonly<Record<string, unknown>>): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(params)) {
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    const text = isPlain ? String(value) : ''
    if (!isPlain || !/^\w{1,63}$/.test(name) || text.length > MAX_ENV_CHARS || text.includes('\0')) continue
    env[`DATAPROC_PARAM_${name}`] = text
  }
  return env
}
