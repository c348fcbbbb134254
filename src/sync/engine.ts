import type { SyncControl } from '../storage/models/sync-control.js'
import type { TransferRecord, TransferRows } from '../storage/models/transfers.js'
import type { Progress } from './attempt.js'
import type { AttemptFault } from './faults.js'
import { clearWaits, type LaneState, type WaitSettings } from './lanes.js'
import type { SyncMetrics } from './metrics.js'
import type { Runner } from './run-attempt.js'

export interface OutboxDeps {
  transfers: TransferRows
  control: SyncControl
  runner: Runner
  waits: WaitSettings
  /** attempts that run at the same time, over all lanes */
  concurrency: number
  /** returns why the settings do not allow sending now; null if they do */
  closedReason(): string | null
  /** monotonic clock */
  nowMs(): number
  nowUs(): number
  /** number from 0 to 1, for the jitter of waits */
  random(): number
  log: {
    debug(fields: object, message: string): void
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
}

/** A running attempt. */
interface Running {
  abort: AbortController
  progress: Progress
  done: Promise<void>
}

/** Called when an attempt has ended; `fault` is null after a delivery. */
export type Watcher = (transfer: TransferRecord, fault: AttemptFault | null) => void

/** State shared by the parts of an outbox. */
export interface Engine extends OutboxDeps {
  /** lane key → state */
  lanes: Map<string, LaneState>
  /** transfer → running attempt */
  active: Map<number, Running>
  watchers: Set<Watcher>
  metrics: SyncMetrics
  /** paused by an operator */
  isPaused: boolean
  isStopped: boolean
  /**
   * transfers whose failed attempt could not be recorded, for example on a full disk; retried by the
   * scheduler
   */
  unrecorded: Set<number>
  /** last seen values of the switches that other programs set */
  seen: { changes: number; wakes: number }
  /** schedules now */
  wake(): void
}

/** Returns why nothing is sent; null if sending is allowed. */
export function closedReasonOf(engine: Engine): string | null {
  return engine.isPaused ? 'paused by an operator' : engine.closedReason()
}

/** Ends the waits of one upstream, or of all. */
export function endWaits(engine: Engine, upstreamId?: number): void {
  for (const state of engine.lanes.values())
    if (upstreamId === undefined || state.lane.upstreamId === upstreamId) clearWaits(state)
}

/** Notifies the watchers of the end of an attempt. */
export async function notify(engine: Engine, transferId: number, fault: AttemptFault | null): Promise<void> {
  if (engine.watchers.size === 0) return
  const transfer = await engine.transfers.find(transferId)
  if (transfer === undefined) return
  for (const watcher of [...engine.watchers]) watcher(transfer, fault)
}
