import type { TransferRecord } from '../storage/models/transfers.js'
import type { Progress } from './attempt.js'
import { untilBeatMs } from './beat.js'
import { closedReasonOf, type Engine, endWaits, type OutboxDeps, type Watcher } from './engine.js'
import { type AttemptFault, stopped } from './faults.js'
import { createSyncMetrics, type SyncMetrics } from './metrics.js'
import { POLL_MS, schedule } from './schedule.js'

/** State of a transfer for a caller that waited for it. */
export interface Outcome {
  transfer: TransferRecord
  /** why it has not succeeded yet; null if no attempt has failed meanwhile */
  fault: AttemptFault | null
}

/** Runs the transfers of this node. */
export interface Outbox {
  /** Schedules now: something was queued or changed. */
  wake(): void
  /**
   * Ends the waits of a transfer's upstream and waits until the transfer is settled, an attempt of its lane
   * failed, the time is over, or the signal fires.
   */
  expedite(transferId: number, waitMs: number, signal: AbortSignal): Promise<Outcome>
  /** Ends the waits of an upstream, or of all. */
  askNow(upstreamId?: number): void
  /** Stops the running attempt of a cancelled transfer. */
  interrupt(transferId: number): void
  /** Returns why nothing is sent; null if sending is allowed. */
  closedReason(): string | null
  metrics: SyncMetrics
  /** Returns the progress of running attempts: transfer → progress. */
  running(): ReadonlyMap<number, Progress>
  /** Stops running attempts, which are queued again, and closes all connections. */
  stop(): Promise<void>
}

/** Starts an outbox. Transfers that an earlier run was sending are queued again. */
export async function startOutbox(deps: OutboxDeps): Promise<Outbox> {
  const recovered = await deps.transfers.recover()
  if (recovered > 0) deps.log.info({ transfers: recovered }, 'transfers of an earlier run are queued again')
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
    seen: { changes: -1, wakes: await deps.control.wakeCount() }, // the first run reads all
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
      engine.log.warn({ err: error }, 'scheduling of transfers failed')
    }
    isScheduling = false
    const beatMs = waitMs === POLL_MS ? untilBeatMs(POLL_MS) : waitMs
    if (!engine.isStopped) timer = setTimeout(engine.wake, beatMs)
  }
  engine.wake()
  return outboxOf(engine, () => clearTimeout(timer))
}

function outboxOf(engine: Engine, clearTimer: () => void): Outbox {
  return {
    wake: engine.wake,
    expedite: (transferId, waitMs, signal) => expedite(engine, transferId, waitMs, signal),
    askNow(upstreamId) {
      endWaits(engine, upstreamId)
      engine.wake()
    },
    interrupt: (transferId) => engine.active.get(transferId)?.abort.abort(stopped('cancelled')),
    closedReason: () => closedReasonOf(engine),
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

async function expedite(
  engine: Engine,
  transferId: number,
  waitMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const first = await engine.transfers.find(transferId)
  if (first === undefined) throw new Error('the row of a queued transfer is missing')
  if (isSettled(first)) return { transfer: first, fault: null }
  const { promise, resolve } = Promise.withResolvers<AttemptFault | null>()
  const watcher: Watcher = (transfer, fault) => {
    const isOwn = transfer.transferId === transferId
    const isOwnLane = transfer.upstreamId === first.upstreamId && transfer.kind === first.kind
    // the failure of a transfer ahead in the lane delays this one too, unless it ended the other one
    if (isOwn || (isOwnLane && fault !== null && fault.scope !== 'final')) resolve(fault)
  }
  const timer = setTimeout(() => resolve(null), waitMs)
  const onAbort = () => resolve(null)
  signal.addEventListener('abort', onAbort, { once: true })
  engine.watchers.add(watcher)
  try {
    endWaits(engine, first.upstreamId)
    engine.wake()
    const now = await engine.transfers.find(transferId) // it may have been settled before the watcher was added
    if (now !== undefined && isSettled(now)) return { transfer: now, fault: null }
    const fault = closedReasonOf(engine) === null ? await promise : null
    return { transfer: (await engine.transfers.find(transferId)) ?? first, fault }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    engine.watchers.delete(watcher)
  }
}

function isSettled({ state }: TransferRecord): boolean {
  return state === 'delivered' || state === 'failed'
}
