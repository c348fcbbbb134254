/** Bandwidth shared by all transfers. */
export interface Throttle {
  /** largest number of bytes to send at once */
  readonly pieceBytes: number
  /** Waits until `bytes` may be sent. Rejects when the signal fires. */
  take(bytes: number, signal: AbortSignal): Promise<void>
}

/** Size of a piece without a limit. */
const PIECE_BYTES = 256 * 1024
/**
 * With a limit a piece takes a quarter of a second, so that the pause between two is not mistaken for a
 * broken link.
 */
const PIECES_PER_SECOND = 4

/**
 * Creates a throttle: a token bucket that may be overdrawn, by which the next caller waits.
 *
 * @param rate bytes per second, 0 for no limit; a function for one that may change
 * @param nowMs monotonic clock
 */
export function createThrottle(
  rate: number | (() => number),
  nowMs: () => number,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
): Throttle {
  const rateNow = typeof rate === 'number' ? () => rate : rate
  let freeAtMs = nowMs()
  return {
    get pieceBytes() {
      const bytesPerSecond = rateNow()
      if (bytesPerSecond === 0) return PIECE_BYTES
      return Math.max(1, Math.min(PIECE_BYTES, Math.floor(bytesPerSecond / PIECES_PER_SECOND)))
    },
    async take(bytes, signal) {
      const bytesPerSecond = rateNow()
      if (bytesPerSecond === 0) return
      const startMs = Math.max(freeAtMs, nowMs())
      freeAtMs = startMs + (bytes / bytesPerSecond) * 1000
      const waitMs = startMs - nowMs()
      if (waitMs > 0) await sleep(waitMs, signal)
    },
  }
}
