/** Allowances of many owners that refill steadily: a token bucket for each. */
export interface Allowances {
  /**
   * Takes from an allowance.
   *
   * @returns 0 when it was taken; otherwise nothing was, and the result is the time until it can be, ms
   */
  take(owner: string, amount?: number): number
  /** number of owners whose allowance is not full, for metrics and tests */
  size(): number
}

interface AllowanceOptions {
  /** largest amount at once, and the amount that refills in a minute */
  readonly perMinute: number
  /** owners that are remembered; beyond them the one that was quiet the longest is forgotten */
  readonly maxOwners: number
  /** clock that never goes back, ms */
  nowMs?(): number
}

interface Bucket {
  left: number
  atMs: number
}

const MINUTE_MS = 60_000

/**
 * Makes allowances per minute. They are held in memory, so that a restart resets them: 100 bytes for each
 * owner, at most `maxOwners` of them. No timer runs: a bucket is refilled when it is used.
 */
export function createAllowances({
  perMinute,
  maxOwners,
  nowMs = () => performance.now(),
}: AllowanceOptions): Allowances {
  const buckets = new Map<string, Bucket>()
  const perMs = perMinute / MINUTE_MS
  return {
    take(owner, amount = 1) {
      const now = nowMs()
      const old = buckets.get(owner)
      const left = old === undefined ? perMinute : Math.min(perMinute, old.left + (now - old.atMs) * perMs)
      const isTaken = left >= amount
      buckets.delete(owner) // the order of the map is that of the last use
      buckets.set(owner, { left: isTaken ? left - amount : left, atMs: now })
      const [quietest] = buckets.keys()
      if (buckets.size > maxOwners && quietest !== undefined) buckets.delete(quietest)
      return isTaken ? 0 : Math.ceil((amount - left) / perMs)
    },
    size: () => buckets.size,
  }
}
