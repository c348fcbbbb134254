import type { SyncControl } from '../storage/sync-control.js'
import type { TransferRecord, TransferRows } from '../storage/transfers.js'
import type { Progress } from './attempt.js'
import { type AttemptFault, classify, stopped } from './faults.js'
import {
  clearWaits,
  type LaneState,
  laneKey,
  newLane,
  nextOf,
  noteFailure,
  noteSuccess,
  type WaitSettings,
} from './lanes.js'
import { createSyncMetrics, type SyncMetrics } from './metrics.js'
import type { Runner } from './run-attempt.js'

export interface OutboxDeps {
  transfers: TransferRows
  control: SyncControl
  runner: Runner
  waits: WaitSettings
  concurrency: number
  /** paused by the configuration, or out of the windows; null when sending is allowed */
  closedReason(): string | null
  /** monotonic */
  nowMs(): number
  nowUs(): number
  random(): number
  log: {
    debug(f: object, m: string): void
    info(f: object, m: string): void
    warn(f: object, m: string): void
  }
}

/** How a transfer stands for somebody who waits for it. */
export interface Outcome {
  transfer: TransferRecord
  /** why it did not succeed yet */
  fault: AttemptFault | null
}

/** Carries transfers: begins with what an earlier run left, ends with `stop`. */
export interface Outbox {
  /** something was queued, or changed */
  wake(): void
  /** tries now, and waits until the transfer is settled, an attempt of its lane failed, or the time is over */
  expedite(transferId: number, waitMs: number, signal: AbortSignal): Promise<Outcome>
  /** ends the waits of an upstream, or of all */
  askNow(upstreamId?: number): void
  /** ends a running attempt whose transfer was cancelled */
  interrupt(transferId: number): void
  /** why nothing is sent, null when it may be */
  closedReason(): string | null
  metrics: SyncMetrics
  /** progress of what is being sent now: transfer → bytes that the other side has */
  running(): ReadonlyMap<number, Progress>
  stop(): Promise<void>
}

interface Running {
  abort: AbortController
  progress: Progress
  done: Promise<void>
}

/** Changes that another program made are looked for this often. */
const POLL_MS = 1000
/** Transfers of a lane that are looked at for the next one. */
const LOOKAHEAD = 64

/** Everything that `startOutbox` and its helpers share. */
interface Engine extends OutboxDeps {
  lanes: Map<string, LaneState>
  active: Map<number, Running>
  watchers: Set<(transfer: TransferRecord, fault: AttemptFault | null) => void>
  metrics: SyncMetrics
  isPaused: boolean
  isStopped: boolean
  /** attempts whose end could not be written (a full disk): tried again at each look */
  unrecorded: Set<number>
  seen: { changes: number; wakes: number }
  wake(): void
}

/** Starts carrying. */
export async function startOutbox(deps: OutboxDeps): Promise<Outbox> {
  const recovered = await deps.transfers.recover()
  if (recovered > 0) deps.log.info({ transfers: recovered }, 'transfers of an earlier run go on')
  let timer: NodeJS.Timeout | undefined
  let isScheduling = false
  let isAskedAgain = false
  const engine: Engine = {
    ...deps,
    lanes: new Map(),
    active: new Map(),
    watchers: new Set(),
    metrics: createSyncMetrics(),
    isPaused: await deps.control.isPaused(),
    isStopped: false,
    unrecorded: new Set(),
    seen: { changes: await deps.control.changeCount(), wakes: await deps.control.wakeCount() },
    wake() {
      if (isScheduling) isAskedAgain = true
      else void turn()
    },
  }
  const turn = async () => {
    isScheduling = true
    clearTimeout(timer)
    let waitMs = POLL_MS
    try {
      do {
        isAskedAgain = false
        waitMs = await schedule(engine)
      } while (isAskedAgain && !engine.isStopped)
    } catch (error) {
      engine.log.warn({ err: error }, 'the outbox could not look for work')
    }
    isScheduling = false
    if (!engine.isStopped) timer = setTimeout(engine.wake, waitMs)
  }
  engine.wake()
  return outboxOf(engine, () => clearTimeout(timer))
}

function outboxOf(engine: Engine, clearTimer: () => void): Outbox {
  return {
    wake: engine.wake,
    expedite: (transferId, waitMs, signal) => expedite(engine, transferId, waitMs, signal),
    askNow(upstreamId) {
      askNow(engine, upstreamId)
      engine.wake()
    },
    interrupt: (transferId) => engine.active.get(transferId)?.abort.abort(stopped('cancelled')),
    closedReason: () => closedReason(engine),
    metrics: engine.metrics,
    running: () => new Map([...engine.active].map(([id, { progress }]) => [id, progress])),
    async stop() {
      engine.isStopped = true
      clearTimer()
      for (const { abort } of engine.active.values()) abort.abort(stopped('the gateway stops'))
      await Promise.all([...engine.active.values()].map(({ done }) => done))
      await engine.runner.close()
    },
  }
}

/** Starts what may start. @returns when to look again, ms */
async function schedule(engine: Engine): Promise<number> {
  await noticeOthers(engine)
  for (const transferId of engine.unrecorded) {
    await engine.transfers.putBack(transferId, null, null)
    engine.unrecorded.delete(transferId)
  }
  if (engine.isStopped || closedReason(engine) !== null) return POLL_MS
  for (const lane of await engine.transfers.lanes()) {
    const key = laneKey(lane)
    if (!engine.lanes.has(key)) engine.lanes.set(key, newLane(lane))
    const state = engine.lanes.get(key)
    if (state !== undefined) state.lane = lane
  }
  const nowMs = engine.nowMs()
  const ready = [...engine.lanes.values()]
    .filter((state) => !state.isRunning && state.waitUntilMs <= nowMs)
    .sort((a, b) => a.lastRunMs - b.lastRunMs)
  for (const state of ready) {
    if (engine.isStopped || engine.active.size >= engine.concurrency) break
    await startNext(engine, state)
  }
  const waits = [...engine.lanes.values()]
    .filter((state) => !state.isRunning && state.waitUntilMs > nowMs)
    .map((state) => state.waitUntilMs - engine.nowMs())
  return Math.max(5, Math.min(POLL_MS, ...waits))
}

/** A command line beside this process may have paused, resumed, retried or cancelled. */
async function noticeOthers(engine: Engine): Promise<void> {
  const changes = await engine.control.changeCount()
  const wakes = await engine.control.wakeCount()
  engine.isPaused = await engine.control.isPaused()
  if (wakes !== engine.seen.wakes) askNow(engine)
  if (changes !== engine.seen.changes) {
    for (const [transferId, running] of engine.active) {
      const transfer = await engine.transfers.find(transferId)
      if (transfer?.state === 'failed') running.abort.abort(stopped('cancelled'))
    }
  }
  engine.seen = { changes, wakes }
}

async function startNext(engine: Engine, state: LaneState): Promise<void> {
  // more than the first one only where some are set aside
  const waiting = await engine.transfers.waiting(state.lane, state.stuck.size === 0 ? 1 : LOOKAHEAD)
  if (waiting.length === 0) {
    engine.lanes.delete(laneKey(state.lane))
    return
  }
  const next = nextOf(state, waiting, engine.nowMs())
  if ('notBeforeMs' in next) {
    state.waitUntilMs = next.notBeforeMs
    return
  }
  if (!(await engine.transfers.begin(next.transferId))) return
  const progress: Progress = {
    doneBytes: next.bytesSent,
    movedBytes: 0,
    onMoved(bytes) {
      progress.movedBytes += bytes
      engine.metrics.addBytes(next.kind, bytes)
    },
  }
  state.isRunning = true
  state.lastRunMs = engine.nowMs()
  const abort = new AbortController()
  const done = carry(engine, state, next, abort.signal, progress).finally(() => {
    engine.active.delete(next.transferId)
    state.isRunning = false
    engine.wake()
  })
  engine.active.set(next.transferId, { abort, progress, done })
}

/** One attempt and what follows from it. Never throws. */
async function carry(
  engine: Engine,
  state: LaneState,
  transfer: TransferRecord,
  signal: AbortSignal,
  progress: Progress,
): Promise<void> {
  const startMs = engine.nowMs()
  try {
    engine.metrics.count('attempts')
    const answer = await engine.runner.run(transfer, signal, progress)
    if (answer !== null) await engine.transfers.deliver(transfer.transferId, answer)
    noteSuccess(state, transfer.transferId)
    engine.metrics.count('delivered')
    // what was sent twice, or not at all because the upstream had it, is not what the link carried
    const carried = Math.min(
      progress.movedBytes,
      (transfer.sizeBytes ?? progress.movedBytes) - transfer.bytesSent,
    )
    const rate = engine.metrics.measure(carried, engine.nowMs() - startMs)
    if (rate !== undefined) await engine.control.setRate(rate)
    engine.log.info(
      { transfer: transfer.transferId, kind: transfer.kind, bytes: progress.movedBytes },
      'transfer delivered',
    )
    await tell(engine, transfer.transferId, null)
  } catch (error) {
    try {
      await settleFailure(engine, state, transfer, signal.aborted ? signal.reason : error, progress)
    } catch (fault) {
      engine.unrecorded.add(transfer.transferId)
      engine.log.warn(
        { transfer: transfer.transferId, err: fault },
        'a failed transfer could not be recorded',
      )
    }
  }
}

async function settleFailure(
  engine: Engine,
  state: LaneState,
  transfer: TransferRecord,
  error: unknown,
  progress: Progress,
): Promise<void> {
  const { transferId } = transfer
  const fault = classify(error)
  if (fault.scope === 'stopped') {
    // a cancelled one is `failed` already, which putting back does not touch
    await engine.transfers.putBack(transferId, null, null)
    await tell(engine, transferId, fault)
    return
  }
  if (fault.status !== undefined) engine.runner.forgetPeer(transfer.upstreamId)
  engine.metrics.countFault(fault.name)
  if (fault.scope === 'final') {
    await engine.transfers.fail(transferId, fault)
    state.stuck.delete(transferId)
    engine.metrics.count('failed')
    engine.log.warn(
      { transfer: transferId, kind: transfer.kind, fault: fault.name, reason: fault.message },
      'transfer failed for good',
    )
    await tell(engine, transferId, fault)
    return
  }
  const hasProgressed = progress.doneBytes > transfer.bytesSent
  const waitMs = noteFailure(
    state,
    transferId,
    fault,
    hasProgressed,
    engine.waits,
    engine.nowMs(),
    engine.random,
  )
  await engine.transfers.putBack(transferId, fault, engine.nowUs() + waitMs * 1000)
  engine.log.info(
    { transfer: transferId, kind: transfer.kind, fault: fault.name, reason: fault.message, waitMs },
    'transfer will be tried again',
  )
  await tell(engine, transferId, fault)
}

async function tell(engine: Engine, transferId: number, fault: AttemptFault | null): Promise<void> {
  if (engine.watchers.size === 0) return
  const transfer = await engine.transfers.find(transferId)
  if (transfer === undefined) return
  for (const watcher of [...engine.watchers]) watcher(transfer, fault)
}

function closedReason(engine: Engine): string | null {
  return engine.isPaused ? 'paused by an operator' : engine.closedReason()
}

function askNow(engine: Engine, upstreamId?: number): void {
  for (const state of engine.lanes.values())
    if (upstreamId === undefined || state.lane.upstreamId === upstreamId) clearWaits(state)
}

async function expedite(
  engine: Engine,
  transferId: number,
  waitMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const first = await engine.transfers.find(transferId)
  if (first === undefined) throw new Error('a transfer that was just queued is not there')
  const isSettled = ({ state }: TransferRecord) => state === 'delivered' || state === 'failed'
  if (isSettled(first)) return { transfer: first, fault: null }
  const { promise, resolve } = Promise.withResolvers<AttemptFault | null>()
  const watcher = (transfer: TransferRecord, fault: AttemptFault | null) => {
    const isMine = transfer.transferId === transferId
    const isMyLane = transfer.upstreamId === first.upstreamId && transfer.kind === first.kind
    // a failure ahead in the line keeps this one waiting too, unless it ended that other one for good
    if (isMine || (isMyLane && fault !== null && fault.scope !== 'final')) resolve(fault)
  }
  const timer = setTimeout(() => resolve(null), waitMs)
  const onAbort = () => resolve(null)
  signal.addEventListener('abort', onAbort, { once: true })
  engine.watchers.add(watcher)
  try {
    askNow(engine, first.upstreamId)
    engine.wake()
    const now = await engine.transfers.find(transferId) // it may have settled before the watcher was there
    if (now !== undefined && isSettled(now)) return { transfer: now, fault: null }
    const fault = closedReason(engine) === null ? await promise : null
    return { transfer: (await engine.transfers.find(transferId)) ?? first, fault }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    engine.watchers.delete(watcher)
  }
}
