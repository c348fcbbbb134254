/**
 * Returns the wait before the next attempt: "full jitter", `random(0, min(cap, base·2^n))`, so that the nodes
 * of a fleet do not call at once when their upstream returns.
 *
 * @param failures consecutive failures, 1 or more
 * @param random number from 0 to 1
 * @returns milliseconds
 * @see M. Brooker, "Exponential Backoff And Jitter", 2015
 */
export function backoffMs(failures: number, baseMs: number, capMs: number, random: number): number {
  const exponent = Math.min(failures - 1, 40) // 2^40 is beyond any cap
  return Math.round(random * Math.min(capMs, baseMs * 2 ** exponent))
}

/**
 * Parses a `Retry-After` header: a number of seconds, or an HTTP date.
 *
 * @param nowMs wall clock, for dates
 * @returns seconds; undefined for a missing or malformed header
 */
export function retryAfterS(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim())
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, (atMs - nowMs) / 1000)
}
