import { AppError, isAppError, messageOf } from '../errors.js'
import type { Log } from '../log.js'
import { type ModuleCall, type RunCaller, scriptOf } from './call.js'
import type { ModuleCatalog } from './catalog.js'
import type { ScriptDefinition } from './definition.js'
import { diskUsage } from './disk-usage.js'
import type { Isolation } from './isolation.js'
import type { DataprocLayout } from './layout.js'
import { type CommandDeps, commandOf, environmentOf } from './run-command.js'
import { type ResolvedCall, type RunStores, resolveCall, writeInputs } from './run-data.js'
import { makeRunDirectory, type RunDirectory } from './run-directory.js'
import type { RunLog, RunLogs } from './run-log.js'
import { type ProcessLimits, type ProcessOutcome, runProcess } from './run-process.js'
import type { SessionDirectories } from './session-directories.js'
import type { Slots } from './slots.js'
import { takeOutputs } from './take-outputs.js'

interface EngineDeps extends CommandDeps {
  readonly layout: DataprocLayout
  readonly catalog: ModuleCatalog
  readonly stores: RunStores
  readonly slots: Slots
  readonly logs: RunLogs
  readonly sessions: SessionDirectories
  /** probes at the first call */
  isolation(): Promise<Isolation>
  newId(): string
  nowUs(): number
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}

/** A run that succeeded. */
export interface RunEnd {
  readonly runId: string
  /** end of stderr */
  readonly lastLines: string
}

/** A run that has ended, well or not. */
export interface EndedRun {
  /** name of the module, and that of its folder */
  readonly names: readonly string[]
  readonly method: string
  readonly runId: string
  readonly endedAtUs: number
  /** null for one that succeeded */
  readonly error: { readonly name: string; readonly message: string } | null
}

/** Runs the methods of modules. */
export interface ModuleEngine {
  /** Calls a listener after each run. Returns a function that ends it. */
  watchEnds(listener: (run: EndedRun) => void): () => void
  /**
   * Checks a call as `exec` does before it runs.
   *
   * @throws AppError as `exec`, before anything is run
   */
  check(call: ModuleCall, caller: RunCaller): Promise<void>
  /**
   * Runs a method to its end. Its outputs are stored when the promise resolves.
   *
   * @throws AppError UNKNOWN_MODULE, UNKNOWN_SCRIPT, BAD_MODULE, MODULE_FAILED, MODULE_LIMIT, BAD_OUTPUT,
   *   BUSY, CANCELLED, FORBIDDEN, DISK_FULL, and the errors of unknown inputs and outputs: nothing is stored
   *   then
   */
  exec(call: ModuleCall, caller: RunCaller): Promise<RunEnd>
  /** Resolves when every run has ended and its directory is removed. */
  settled(): Promise<void>
}

/** Creates the engine; nothing starts before the first call. */
export function createModuleEngine(deps: EngineDeps): ModuleEngine {
  const running = createRunning()
  const listeners = new Set<(run: EndedRun) => void>()
  const prepare = async (given: ModuleCall, caller: RunCaller): Promise<Run> => {
    const { folder, definition } = await deps.catalog.find(given.module)
    const call = { ...given, module: folder } // whatever its name, a module has one set of directories
    const script = scriptOf(definition, call)
    const file = await deps.catalog.scriptFile(call.module, script)
    const resolved = await resolveCall(call, caller, deps.stores)
    return { call, caller, script, file, resolved, names: [definition.name, folder], runId: deps.newId() }
  }
  const tell = ({ names, call, runId }: Run, fault: unknown) => {
    const error = fault === undefined ? null : { name: nameOf(fault), message: messageOf(fault) }
    const run = { names, method: call.method, runId, endedAtUs: deps.nowUs(), error }
    for (const listener of listeners) listener(run)
  }
  return {
    async check(call, caller) {
      await prepare(call, caller)
    },
    async exec(call, caller) {
      const one = await prepare(call, caller)
      try {
        const lastLines = await running.add(runInTurn(deps, one))
        tell(one, undefined)
        return { runId: one.runId, lastLines }
      } catch (error) {
        tell(one, error)
        throw error
      }
    },
    watchEnds(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    settled: () => running.settled(),
  }
}

/** Marks the session as used while the run waits for a slot, so that its directory is kept. */
async function runInTurn(deps: EngineDeps, one: Run): Promise<string> {
  const { sessionId, signal } = one.caller
  const leaveSession = sessionId === null ? undefined : deps.sessions.use(sessionId)
  try {
    const giveBack = await deps.slots.take(signal)
    try {
      return await run(deps, one)
    } finally {
      giveBack()
    }
  } finally {
    leaveSession?.()
  }
}

/** Returns the set of running calls, which a stop waits for. */
function createRunning() {
  const going = new Set<Promise<unknown>>()
  return {
    async add<T>(work: Promise<T>): Promise<T> {
      going.add(work)
      try {
        return await work
      } finally {
        going.delete(work)
      }
    },
    async settled() {
      await Promise.allSettled(going)
    },
  }
}

interface Run {
  readonly call: ModuleCall
  readonly caller: RunCaller
  readonly script: ScriptDefinition
  readonly file: string
  readonly resolved: ResolvedCall
  readonly names: readonly string[]
  readonly runId: string
}

/** Runs the script. Removes the run's directory and closes its log in any case. @returns the end of stderr */
async function run(deps: EngineDeps, one: Run): Promise<string> {
  const { call, caller, script, runId } = one
  const startUs = deps.nowUs()
  const isolation = await deps.isolation()
  const log = await deps.logs.open(startUs, runId)
  const identity = { runId, module: call.module, sessionId: caller.sessionId }
  let directory: RunDirectory | undefined
  let outcome: ProcessOutcome | undefined
  let fault: unknown
  try {
    directory = await makeRunDirectory(deps.layout, identity, isolation.kind)
    const facts = { run_id: runId, type: script.type }
    const { resolved } = one
    const { paths } = directory
    await writeInputs({ call, resolved, facts, paths, signal: caller.signal }, deps.stores)
    outcome = await start(deps, one, directory, isolation, log)
    const said = lastLines(log, directory)
    requireSuccess(one, outcome, deps.limits, said)
    const { outputDir } = directory
    await takeOutputs(call, resolved, { outputDir, type: script.type, startUs, caller }, deps.stores)
    return said
  } catch (error) {
    fault = withRunId(error, runId)
    throw fault
  } finally {
    await finish(deps, one, { startUs, isolation, log, directory, outcome, fault })
  }
}

async function start(
  deps: EngineDeps,
  { call, caller, script, file, runId }: Run,
  { dirs, paths }: RunDirectory,
  isolation: Isolation,
  log: RunLog,
): Promise<ProcessOutcome> {
  // the whole run, and the permanent directories outside it, which the run sees as a part of it
  const watchedDirs = [paths.root, dirs.session, dirs.application].filter((dir) => dir !== paths.session)
  return await runProcess({
    runId,
    command: commandOf({ file, args: script.args }, dirs, isolation, deps),
    cwd: paths.root,
    env: environmentOf(runId, call, dirs, deps),
    limits: deps.limits,
    watchedDirs,
    givenBytes: (await diskUsage([paths.root])).bytes,
    requireSpace: () => deps.stores.requireSpace(0),
    signal: caller.signal,
    onPrint: (stream, chunk) => log.print(stream, chunk),
  })
}

/** @throws AppError CANCELLED, MODULE_LIMIT, MODULE_FAILED */
function requireSuccess(
  { call }: Run,
  { exitCode, signal, stop, leftProcesses }: ProcessOutcome,
  { diskBytes }: ProcessLimits,
  stderr: string,
): void {
  const name = `${call.module}.${call.method}`
  const facts = { module: call.module, method: call.method, exit_code: exitCode, signal, stderr }
  if (stop?.limit === 'cancelled') throw new AppError('CANCELLED')
  const said = stderr === '' ? '' : `; last lines of stderr: ${stderr}`
  if (stop !== null)
    throw new AppError(
      'MODULE_LIMIT',
      { ...facts, limit: stop.limit },
      { message: `${name} ${stop.message}${said}` },
    )
  // a shell exits with 128 + SIGXFSZ when its program exceeds the limit on file sizes
  if (signal === 'SIGXFSZ' || exitCode === 128 + 25) {
    const message = `${name} wrote a file of more than ${diskBytes} bytes, the limit${said}`
    throw new AppError('MODULE_LIMIT', { ...facts, limit: 'disk' }, { message })
  }
  if (leftProcesses > 0)
    throw new AppError('MODULE_FAILED', facts, { message: `${name} left processes that cannot be killed` })
  if (exitCode === 0) return
  const how = exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`
  throw new AppError('MODULE_FAILED', facts, { message: `${name} ${how}${said}` })
}

/** Returns the last lines of stderr without the paths of this device. */
function lastLines(log: RunLog, { paths, dirs }: RunDirectory): string {
  return log.lastLines().replaceAll(paths.root, '.').replaceAll(dirs.module, '(module)')
}

/** Returns the error with the id of the run, by which its log is found. */
function withRunId(error: unknown, runId: string): unknown {
  if (!isAppError(error)) return error
  return new AppError(
    error.errorName,
    { ...error.data, run_id: runId },
    { message: error.message, cause: error.cause },
  )
}

function nameOf(fault: unknown): string {
  return isAppError(fault) ? fault.errorName : 'INTERNAL'
}

interface Finish {
  startUs: number
  isolation: Isolation
  log: RunLog
  directory: RunDirectory | undefined
  outcome: ProcessOutcome | undefined
  fault: unknown
}

/**
 * Closes the log and removes the directory. Failures are logged; the next start of the gateway removes the
 * rest.
 */
async function finish(
  deps: EngineDeps,
  { call, caller, runId }: Run,
  { startUs, isolation, log, directory, outcome, fault }: Finish,
): Promise<void> {
  const error = fault === undefined ? null : nameOf(fault)
  const facts = {
    run_id: runId,
    module: call.module,
    method: call.method,
    key: caller.keyName,
    started_at: new Date(startUs / 1000).toISOString(),
    seconds: Math.max(0, deps.nowUs() - startUs) / 1e6,
    isolation: isolation.kind,
    exit_code: outcome?.exitCode ?? null,
    signal: outcome?.signal ?? null,
    error,
    message: fault === undefined ? null : messageOf(fault),
  }
  deps.log.info({ runId, module: call.module, method: call.method, error }, 'module run ended')
  try {
    await log.close(facts)
  } catch (cause) {
    deps.log.warn({ err: cause, runId }, 'the log of a run is incomplete')
  }
  try {
    await directory?.remove()
  } catch (cause) {
    deps.log.error({ err: cause, runId }, 'the directory of a run could not be removed')
  }
}
