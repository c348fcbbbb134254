/**
 * Wait before the next try: "full jitter", `random(0, min(cap, base·2^n))`, so that a fleet whose upstream comes back
 * does not call all at once.
 *
 * @param failures failures in a row, 1 or more
 * @param random 0 to 1
 * @see M. Brooker, "Exponential Backoff And Jitter", 2015
 */
export function backoffMs(failures: number, baseMs: number, capMs: number, random: number): number {
  const exponent = Math.min(failures - 1, 40) // 2^40 is beyond any cap
  return Math.round(random * Math.min(capMs, baseMs * 2 ** exponent))
}

/** Seconds of a `Retry-After` header: a number, or an HTTP date against the given clock. undefined when it is neither. */
export function retryAfterS(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim())
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, (atMs - nowMs) / 1000)
}
