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

/** Most that is added to a wait that an upstream asked for, ms: by then it has other callers. */
const MOST_SPREAD_MS = 60_000

/**
 * Returns the wait before the next attempt after an answer that may have asked for one: that wait and up to half of it
 * more, a minute at most, since a busy upstream asks many nodes at a time; at least `backoffMs`.
 *
 * @param failures consecutive failures, 1 or more
 * @param askedS `Retry-After`, 0 for none
 * @param random returns numbers from 0 to 1
 * @returns milliseconds
 */
export function retryMs(
  failures: number,
  { baseMs, capMs }: { readonly baseMs: number; readonly capMs: number },
  askedS: number,
  random: () => number,
): number {
  const askedMs = askedS * 1000
  const spreadMs = Math.round(random() * Math.min(askedMs / 2, MOST_SPREAD_MS))
  return Math.max(askedMs + spreadMs, backoffMs(failures, baseMs, capMs, random()))
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
