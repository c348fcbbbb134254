import type { ModuleCall } from './call.js'
import { isNodeScript } from './catalog.js'
import type { Command, Isolation, RunDirs } from './isolation.js'
import { RUN_MARK } from './process-table.js'
import type { ProcessLimits } from './run-process.js'

export interface CommandDeps {
  /** command that runs .js and .ts files, without the file */
  readonly node: Command
  /** search path of programs, for the gateway and for modules */
  readonly searchPath: string
  readonly limits: ProcessLimits
}

/** Returns the command of a script with the kernel's limits and the isolation. */
export function commandOf(
  script: { file: string; args: readonly string[] },
  dirs: RunDirs,
  isolation: Isolation,
  deps: CommandDeps,
): Command {
  const plain = scriptCommand(deps.node, script.file, script.args)
  return isolation.wrap(limited(plain, deps, isolation), dirs)
}

/** Returns the environment of a run. It takes only the search path from the gateway's own. */
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

/** Threads per process: Node has a dozen, and the kernel's limit counts each. */
const THREADS_PER_PROCESS = 16

/**
 * Adds the kernel's limits, which act at once, where the program that sets them exists. The limit on
 * processes is counted per user namespace; without one it would count all processes of this user, the gateway
 * included, so it is left out.
 */
function limited({ file, args }: Command, { limits }: CommandDeps, { prlimit, kind }: Isolation): Command {
  if (prlimit === undefined) return { file, args }
  const nproc = kind === 'none' ? [] : [`--nproc=${limits.maxProcesses * THREADS_PER_PROCESS}`]
  return { file: prlimit, args: [`--fsize=${limits.diskBytes}`, '--core=0', ...nproc, '--', file, ...args] }
}

const MAX_ENV_CHARS = 10_000

/**
 * Returns the scalar params as `DATAPROC_PARAM_name`, for scripts that read no JSON. The prefix prevents
 * other meanings.
 */
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
