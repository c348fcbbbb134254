/** Shares a bandwidth among everything that is sent. */
export interface Throttle {
  /** bytes that may go in one piece */
  readonly pieceBytes: number
  /** waits until so many bytes may go */
  take(bytes: number, signal: AbortSignal): Promise<void>
}

/** Sent in larger pieces than this when there is no limit. */
const PIECE_BYTES = 256 * 1024
/** With a limit a piece takes a quarter of a second, so that silence is never taken for a broken link. */
const PIECES_PER_SECOND = 4

/**
 * A token bucket that may be overdrawn: whoever takes more than there is waits for it.
 *
 * @param bytesPerSecond 0 for no limit
 * @param nowMs monotonic clock
 */
export function createThrottle(
  bytesPerSecond: number,
  nowMs: () => number,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
): Throttle {
  if (bytesPerSecond === 0) return { pieceBytes: PIECE_BYTES, take: async () => undefined }
  const pieceBytes = Math.max(1, Math.min(PIECE_BYTES, Math.floor(bytesPerSecond / PIECES_PER_SECOND)))
  let freeAtMs = nowMs()
  return {
    pieceBytes,
    async take(bytes, signal) {
      const startMs = Math.max(freeAtMs, nowMs())
      freeAtMs = startMs + (bytes / bytesPerSecond) * 1000
      const waitMs = startMs - nowMs()
      if (waitMs > 0) await sleep(waitMs, signal)
    },
  }
}
