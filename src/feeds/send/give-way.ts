/** Longest wait of a batch for writers of this gateway, ms: rows travel while they write without end, too. */
const MAX_WAIT_MS = 500
/** Time between two looks at what the writers do, ms. */
const LOOK_MS = 20
/** Share of the time that writers may take without a wait of the feeds. */
const BUSY_SHARE = 0.3

interface GiveWayDeps {
  /** time for which writers of this gateway have worked, ms, growing */
  writingMs(): number
  /** monotonic clock */
  nowMs(): number
  /** Rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/**
 * Creates the wait before each batch of a feed. Who puts rows waits for the answer, who reads them upstream
 * does not: while writers keep the gateway busy, feeds take little of its time.
 *
 * @returns function that waits until the writers leave time, or 500 ms; at once when they did since the last
 *   batch
 */
export function createGiveWay({
  writingMs,
  nowMs,
  sleep,
}: GiveWayDeps): (signal: AbortSignal) => Promise<void> {
  let seen = { atMs: nowMs(), writingMs: writingMs() }
  const isBusy = () => {
    const now = { atMs: nowMs(), writingMs: writingMs() }
    const share = (now.writingMs - seen.writingMs) / (now.atMs - seen.atMs)
    seen = now
    return share > BUSY_SHARE
  }
  return async (signal) => {
    const untilMs = nowMs() + MAX_WAIT_MS
    while (isBusy() && nowMs() < untilMs) await sleep(LOOK_MS, signal)
  }
}
