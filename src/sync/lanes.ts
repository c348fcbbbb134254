import type { Lane, TransferRecord } from '../storage/models/transfers.js'
import { backoffMs, retryMs } from './backoff.js'
import type { AttemptFault } from './faults.js'

/** Failures with an answer of the upstream after which later transfers may overtake a transfer. */
const SET_ASIDE_AFTER = 3
/**
 * A transfer with fewer failures is retried after each success of its lane; one with more waits its own time.
 */
const EAGER_UNTIL = 10
/** Longest wait that an upstream may ask for, s. */
const MAX_RETRY_AFTER_S = 86_400

/** State of a lane in memory. A restart forgets it: every wait is over then. */
export interface LaneState {
  lane: Lane
  /** failures since the last delivery */
  failures: number
  /** end of the wait, on the monotonic clock */
  waitUntilMs: number
  isRunning: boolean
  /** start of the last attempt, on the monotonic clock; lanes take turns by it */
  lastRunMs: number
  /** transfer → its failures */
  stuck: Map<number, Stuck>
}

/** A transfer whose failures say nothing about others. */
interface Stuck {
  failures: number
  notBeforeMs: number
}

/** Bounds of the waits between attempts, see `backoffMs`. */
export interface WaitSettings {
  baseMs: number
  capMs: number
}

/** Returns the key of a lane in a map. */
export function laneKey({ upstreamId, kind }: Lane): string {
  return `${upstreamId} ${kind}`
}

/** Returns the state of a lane without failures. */
export function newLane(lane: Lane): LaneState {
  return {
    lane,
    failures: 0,
    waitUntilMs: 0,
    isRunning: false,
    lastRunMs: Number.NEGATIVE_INFINITY,
    stuck: new Map(),
  }
}

/**
 * Chooses the next transfer of a lane: the first one that was not set aside, or whose own wait is over.
 *
 * @param waiting queued transfers, in order
 * @returns the transfer, or the time when the next one may be tried
 */
export function nextOf(
  state: LaneState,
  waiting: readonly TransferRecord[],
  nowMs: number,
): TransferRecord | { notBeforeMs: number } {
  let earliestMs = Number.POSITIVE_INFINITY
  for (const transfer of waiting) {
    const stuck = state.stuck.get(transfer.transferId)
    if (stuck === undefined || stuck.failures < SET_ASIDE_AFTER || stuck.notBeforeMs <= nowMs) return transfer
    earliestMs = Math.min(earliestMs, stuck.notBeforeMs)
  }
  return { notBeforeMs: earliestMs }
}

/** A failed attempt. */
interface Failure {
  transferId: number
  fault: AttemptFault
  /** the receiver has more bytes than before: the link works, and the next attempt continues there */
  hasProgressed: boolean
  /** monotonic clock */
  nowMs: number
}

/** Records a failed attempt. Returns the shortest wait of its transfer, ms. */
export function noteFailure(
  state: LaneState,
  { transferId, fault, hasProgressed, nowMs }: Failure,
  { baseMs, capMs }: WaitSettings,
  random: () => number,
): number {
  state.failures = hasProgressed ? 1 : state.failures + 1
  const askedS = Math.min(fault.retryAfterS ?? 0, MAX_RETRY_AFTER_S)
  const waitMs = retryMs(state.failures, { baseMs, capMs }, askedS, random)
  state.waitUntilMs = nowMs + waitMs
  if (fault.scope !== 'transfer') return waitMs
  const stuck = state.stuck.get(transferId) ?? { failures: 0, notBeforeMs: 0 }
  stuck.failures = hasProgressed ? 1 : stuck.failures + 1
  const ownMs = Math.max(waitMs, backoffMs(stuck.failures, baseMs, capMs, random()))
  stuck.notBeforeMs = nowMs + ownMs
  state.stuck.set(transferId, stuck)
  return ownMs
}

/** Records a delivery: the waits of the lane end, because its upstream accepts transfers. */
export function noteSuccess(state: LaneState, transferId: number): void {
  state.failures = 0
  state.waitUntilMs = 0
  state.stuck.delete(transferId)
  for (const stuck of state.stuck.values()) if (stuck.failures < EAGER_UNTIL) stuck.notBeforeMs = 0
}

/** Ends all waits of a lane and forgets its failures, at the request of an operator. */
export function clearWaits(state: LaneState): void {
  state.failures = 0
  state.waitUntilMs = 0
  state.stuck.clear()
}
