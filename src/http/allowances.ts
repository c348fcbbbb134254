/** Allowances of many owners that refill steadily: a token bucket for each. */
export interface Allowances {
  readonly perMinute: number
  /**
   * Takes from an allowance.
   *
   * @returns 0 when it was taken; otherwise nothing was, and the result is the time until it can be, ms
   */
  take(owner: string, amount?: number): number
  /** Lowers what is left of an allowance, also below 0: others took from it, too. It is never raised. */
  lower(owner: string, left: number): void
  /** Time until an allowance that was lowered below 0 is at 0 again, ms; 0 for any other. */
  debtMs(owner: string): number
  /** Returns owner → what was taken since the last call. Only for allowances that are shared: others keep no count. */
  takeSpent(): Map<string, number>
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
  /** true: what is taken is counted for `takeSpent` */
  readonly isShared?: boolean
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
  isShared = false,
}: AllowanceOptions): Allowances {
  const buckets = new Map<string, Bucket>()
  let unsaid = new Map<string, number>()
  const perMs = perMinute / MINUTE_MS
  const leftOf = (owner: string, now: number) => {
    const old = buckets.get(owner)
    return old === undefined ? perMinute : Math.min(perMinute, old.left + (now - old.atMs) * perMs)
  }
  const put = (owner: string, left: number, atMs: number) => {
    buckets.delete(owner) // the order of the map is that of the last use
    buckets.set(owner, { left, atMs })
    const [quietest] = buckets.keys()
    if (buckets.size > maxOwners && quietest !== undefined) buckets.delete(quietest)
  }
  return {
    perMinute,
    take(owner, amount = 1) {
      const now = nowMs()
      const left = leftOf(owner, now)
      const isTaken = left >= amount
      put(owner, isTaken ? left - amount : left, now)
      if (isTaken && isShared) unsaid.set(owner, (unsaid.get(owner) ?? 0) + amount)
      return isTaken ? 0 : Math.ceil((amount - left) / perMs)
    },
    lower(owner, left) {
      const now = nowMs()
      if (left < leftOf(owner, now)) put(owner, left, now)
    },
    debtMs: (owner) => Math.max(0, Math.ceil(-leftOf(owner, nowMs()) / perMs)),
    takeSpent() {
      const spent = unsaid
      unsaid = new Map()
      return spent
    },
    size: () => buckets.size,
  }
}
