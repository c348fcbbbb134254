import { AppError } from '../../errors.js'
import type { FeedState } from './sender-deps.js'

/** Answers in a row that may send a feed elsewhere, as after a restore of the receiver. */
const MAX_DETOURS = 3
/** Share of earlier batches in the measured rate. */
const RATE_MEMORY = 0.7

/**
 * Counts an answer that sent a feed elsewhere.
 *
 * @throws AppError UPSTREAM_REFUSED for a node that agrees and then does not, again and again
 */
export function takeDetour(state: FeedState): void {
  state.detours++
  if (state.detours <= MAX_DETOURS) return
  const message = `The upstream sent the feed elsewhere ${state.detours} times in a row`
  throw new AppError('UPSTREAM_REFUSED', {}, { message })
}

/** Counts a batch that went from node to node, and measures the rate. */
export function noteMoved(state: FeedState, rows: number, bytes: number, ms: number): void {
  state.rowsSent += rows
  state.bytesSent += bytes
  state.rate.bytes = state.rate.bytes * RATE_MEMORY + bytes
  state.rate.ms = state.rate.ms * RATE_MEMORY + Math.max(1, ms)
}
