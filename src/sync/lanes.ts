import type { Lane, TransferRecord } from '../storage/transfers.js'
import { backoffMs } from './backoff.js'
import type { AttemptFault } from './faults.js'

/** Failures with an answer after which a transfer lets those behind it pass. */
const SET_ASIDE_AFTER = 3
/** A transfer that failed more often is not tried again at each success of another, only when its own wait is over. */
const EAGER_UNTIL = 10
/** Longest wait that an upstream may ask for. */
const MAX_RETRY_AFTER_S = 86_400

export interface LaneState {
  lane: Lane
  /** failures since something was delivered */
  failures: number
  /** monotonic */
  waitUntilMs: number
  isRunning: boolean
  /** monotonic; lanes take turns */
  lastRunMs: number
  stuck: Map<number, Stuck>
}

/** A transfer that was answered with failures of its own. */
interface Stuck {
  failures: number
  notBeforeMs: number
}

export interface WaitSettings {
  baseMs: number
  capMs: number
}

export function laneKey({ upstreamId, kind }: Lane): string {
  return `${upstreamId} ${kind}`
}

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
 * Which of a lane's transfers is next: the first one, unless it was set aside; one that was set aside when its own
 * wait is over or nothing else is there.
 *
 * @param waiting in order
 * @returns undefined with the time when the next one may be tried
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

/** Takes note of a failure. @returns how long the transfer waits at least, ms */
export function noteFailure(
  state: LaneState,
  transferId: number,
  fault: AttemptFault,
  hasProgressed: boolean,
  settings: WaitSettings,
  nowMs: number,
  random: () => number,
): number {
  // bytes moved: the link lives, and the next try begins where this one ended
  state.failures = hasProgressed ? 1 : state.failures + 1
  const { baseMs, capMs } = settings
  const askedMs = Math.min(fault.retryAfterS ?? 0, MAX_RETRY_AFTER_S) * 1000
  const waitMs = Math.max(askedMs, backoffMs(state.failures, baseMs, capMs, random()))
  state.waitUntilMs = nowMs + waitMs
  if (fault.scope !== 'transfer') return waitMs
  const stuck = state.stuck.get(transferId) ?? { failures: 0, notBeforeMs: 0 }
  stuck.failures = hasProgressed ? 1 : stuck.failures + 1
  const ownMs = Math.max(waitMs, backoffMs(stuck.failures, baseMs, capMs, random()))
  stuck.notBeforeMs = nowMs + ownMs
  state.stuck.set(transferId, stuck)
  return ownMs
}

/** The upstream took something: whoever waits may try at once. */
export function noteSuccess(state: LaneState, transferId: number): void {
  state.failures = 0
  state.waitUntilMs = 0
  state.stuck.delete(transferId)
  for (const stuck of state.stuck.values()) if (stuck.failures < EAGER_UNTIL) stuck.notBeforeMs = 0
}

/** An operator asks: waits are over, failures forgotten. */
export function clearWaits(state: LaneState): void {
  state.failures = 0
  state.waitUntilMs = 0
  state.stuck.clear()
}
