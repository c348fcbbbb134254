import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { diskUsage } from './disk-usage.js'
import type { Command } from './isolation.js'
import { createProcessGroup, type ProcessGroup } from './process-group.js'
import { unnamedBytes } from './process-table.js'

export interface ProcessLimits {
  readonly timeMs: number
  /** resident memory of all processes together */
  readonly memoryBytes: number
  readonly diskBytes: number
  /** standard output and error together */
  readonly printBytes: number
  readonly maxProcesses: number
}

interface ProcessPlan {
  readonly runId: string
  readonly command: Command
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly limits: ProcessLimits
  /** directories whose files count towards the disk limit */
  readonly watchedDirs: readonly string[]
  /** bytes in them that the gateway wrote before the start */
  readonly givenBytes: number
  /** Called with each check. @throws AppError DISK_FULL */
  requireSpace(): Promise<void>
  /** ends the run */
  readonly signal: AbortSignal
  onPrint(stream: 'stdout' | 'stderr', chunk: Uint8Array): void
}

/** Reason why the gateway ended a run. */
interface Stop {
  readonly limit: 'time' | 'memory' | 'disk' | 'print' | 'processes' | 'cancelled'
  /** found value and limit */
  readonly message: string
}

export interface ProcessOutcome {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stop: Stop | null
  /** processes that SIGKILL did not end: they are blocked in the kernel, for example by a lost disk */
  readonly leftProcesses: number
}

/** Interval of the checks of memory, processes and disk. */
const WATCH_MS = 200
/** Longest wait for pipes that are still open when every process has ended. */
const PIPE_GRACE_MS = 1000

/**
 * Runs a program in its own process group. When it ends, every process that it started is killed.
 *
 * @throws Error when the program cannot be started
 */
export async function runProcess(plan: ProcessPlan): Promise<ProcessOutcome> {
  const { command, cwd, env, limits } = plan
  const child = spawn(command.file, [...command.args], {
    cwd,
    env,
    detached: true, // leads its own group
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<{ exitCode: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
  })
  if (child.pid === undefined) throw await ended.catch((error: unknown) => error)
  const group = createProcessGroup(child.pid, (runId) => runId === plan.runId)
  let stop: Stop | null = null
  const halt = (limit: Stop['limit'], message: string) => {
    stop ??= { limit, message }
    killGroup(child.pid)
  }
  const piped = readPipes(child, plan, halt) // before any wait: Node drops output that nobody reads
  const timer = setTimeout(() => halt('time', `ran for ${limits.timeMs / 1000} s, the limit`), limits.timeMs)
  const onAbort = () => halt('cancelled', 'the caller disconnected or the gateway is stopping')
  plan.signal.addEventListener('abort', onAbort, { once: true })
  if (plan.signal.aborted) onAbort()
  const watching = new AbortController()
  let fault: { error: unknown } | undefined
  const watch = watchGroup(plan, group, halt, watching.signal).catch((error: unknown) => {
    fault = { error } // a run that cannot be checked must end
    killGroup(child.pid)
  })
  try {
    await preferForOom(child.pid)
    const { exitCode, signal } = await ended
    watching.abort()
    await watch
    const leftProcesses = await group.kill()
    if (fault !== undefined) throw fault.error
    await Promise.race([piped, sleep(PIPE_GRACE_MS)])
    if (stop === null) await checkDisk(plan, [], halt) // files written since the last check
    return { exitCode, signal, stop, leftProcesses }
  } finally {
    clearTimeout(timer)
    watching.abort()
    plan.signal.removeEventListener('abort', onAbort)
    child.stdout.destroy()
    child.stderr.destroy()
  }
}

type Halt = (limit: Stop['limit'], message: string) => void

/** Reads stdout and stderr, up to the limit. */
async function readPipes(
  child: ChildProcessByStdio<null, Readable, Readable>,
  { limits, onPrint }: ProcessPlan,
  halt: Halt,
): Promise<void> {
  let left = limits.printBytes
  const read = (stream: Readable, name: 'stdout' | 'stderr') =>
    new Promise<void>((resolve) => {
      stream.on('data', (chunk: Uint8Array) => {
        if (left > 0) onPrint(name, chunk.subarray(0, left))
        left -= chunk.byteLength
        if (left < 0) halt('print', `printed more than ${limits.printBytes} bytes, the limit`)
      })
      stream.on('close', resolve)
      stream.on('error', () => resolve()) // the pipe broke: no more output
    })
  await Promise.all([read(child.stdout, 'stdout'), read(child.stderr, 'stderr')])
}

/** Checks the run every 200 ms until `signal` fires. */
async function watchGroup(
  plan: ProcessPlan,
  group: ProcessGroup,
  halt: Halt,
  signal: AbortSignal,
): Promise<void> {
  const { limits } = plan
  while (!signal.aborted) {
    const startedAt = performance.now()
    const members = await group.members()
    const residentBytes = members.reduce((sum, { residentBytes }) => sum + residentBytes, 0)
    if (members.length > limits.maxProcesses)
      halt('processes', `had ${members.length} processes, the limit is ${limits.maxProcesses}`)
    if (residentBytes > limits.memoryBytes)
      halt('memory', `held ${residentBytes} bytes of memory, the limit is ${limits.memoryBytes}`)
    await checkDisk(
      plan,
      members.map(({ pid }) => pid),
      halt,
    )
    // at most a quarter of the time is spent on checks
    const pauseMs = Math.max(WATCH_MS, (performance.now() - startedAt) * 3)
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

async function checkDisk(plan: ProcessPlan, pids: readonly number[], halt: Halt): Promise<void> {
  const { diskBytes } = plan.limits
  const { bytes, files } = await diskUsage(plan.watchedDirs)
  const unnamed = await Promise.all(pids.map((pid) => unnamedBytes(pid)))
  const total = unnamed.reduce((sum, more) => sum + more, Math.max(0, bytes - plan.givenBytes))
  if (total >= diskBytes) halt('disk', `held ${total} bytes of files, the limit is ${diskBytes}`)
  if (files === Number.POSITIVE_INFINITY) halt('disk', 'created too many files, or too deep a directory tree')
  try {
    await plan.requireSpace()
  } catch {
    halt('disk', 'filled the disk of the device up to its reserve')
  }
}

/** Makes the kernel kill the module, not the gateway, when memory runs out between two checks. */
async function preferForOom(pid: number): Promise<void> {
  try {
    await writeFile(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // the process has ended, or the kernel has no such file
  }
}

/** Sends SIGKILL to a group; ignores one that has ended. */
function killGroup(leaderPid: number | undefined): void {
  if (leaderPid === undefined) return
  try {
    process.kill(-leaderPid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
