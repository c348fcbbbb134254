import { AppError } from '../errors.js'
import { type Allowances, createAllowances } from './allowances.js'
import { networkOf } from './server/addresses.js'

interface RateLimits {
  callsPerMinutePerKey: number
  callsPerMinutePerAddress: number
  anonymousPerMinute: number
  signInFailuresPerMinute: number
}

/** Outcome of a failed sign-in. */
export interface SignInFailure {
  /** time until the next failure is answered as such, s; undefined within the allowance */
  readonly retryAfterS: number | undefined
  /** true for the first failure beyond the allowance */
  readonly isFirstBeyond: boolean
}

export interface RateLimiter {
  /** takes calls from the allowances of a key and an address. @throws AppError RATE_LIMITED */
  charge(keyId: string, address: string, calls: number): Promise<void>
  /** takes a request without credentials from the allowance of an address. @throws AppError RATE_LIMITED */
  chargeAnonymous(address: string): void
  /**
   * Counts a failed sign-in against the address, and against the address with the key that it named. Other
   * keys, and the right secret of the same key, are not affected.
   *
   * @param keyId as sent; null for a session token
   */
  countFailure(address: string, keyId: string | null): SignInFailure
}

/** Owners that each table of allowances remembers: some 400 kB a table. */
const MAX_OWNERS = 4096
/** Anonymous requests of all addresses together, in allowances of one address. */
const ANONYMOUS_SHARE = 20
/** Failures of one address over all keys, in allowances of one key. */
const KEYS_PER_ADDRESS = 4
/** Longest key id in a table; a longer one is not an id of this gateway. */
const MAX_ID_CHARS = 64

/** Makes the allowances of callers. They are held in memory, so that a restart resets them. */
export function createRateLimiter(limits: RateLimits, nowMs?: () => number): RateLimiter {
  const table = (perMinute: number, maxOwners = MAX_OWNERS) =>
    createAllowances({ perMinute, maxOwners, ...(nowMs === undefined ? {} : { nowMs }) })
  const byKey = table(limits.callsPerMinutePerKey)
  const byAddress = table(limits.callsPerMinutePerAddress)
  const anonymous = table(limits.anonymousPerMinute)
  const allAnonymous = table(limits.anonymousPerMinute * ANONYMOUS_SHARE, 1)
  const failures = createFailures(limits.signInFailuresPerMinute, table)
  return {
    async charge(keyId, address, calls) {
      refuseAfter(byKey.take(keyId, calls), 'calls of this key')
      refuseAfter(byAddress.take(networkOf(address), calls), 'calls of this address')
    },
    chargeAnonymous(address) {
      refuseAfter(anonymous.take(networkOf(address)), 'requests of this address without credentials')
      refuseAfter(allAnonymous.take('all'), 'requests without credentials')
    },
    countFailure: failures,
  }
}

function createFailures(
  perMinute: number,
  table: (perMinute: number) => Allowances,
): RateLimiter['countFailure'] {
  const byKey = table(perMinute)
  const byAddress = table(perMinute * KEYS_PER_ADDRESS)
  const beyond = table(1) // one report a minute for each
  return (address, keyId) => {
    const network = networkOf(address)
    const pair = `${network} ${keyId === null ? '' : keyId.slice(0, MAX_ID_CHARS)}`
    const waitMs = Math.max(byKey.take(pair), byAddress.take(network))
    if (waitMs === 0) return { retryAfterS: undefined, isFirstBeyond: false }
    return { retryAfterS: secondsOf(waitMs), isFirstBeyond: beyond.take(network) === 0 }
  }
}

/** Makes the refusal of a failed sign-in beyond the allowance. */
export function tooManyFailures(retryAfterS: number): AppError {
  return limited('failed sign-ins', retryAfterS)
}

function refuseAfter(waitMs: number, what: string): void {
  if (waitMs > 0) throw limited(what, secondsOf(waitMs))
}

function limited(what: string, retryAfterS: number): AppError {
  return new AppError(
    'RATE_LIMITED',
    { retryAfterS },
    { message: `Too many ${what}; try again in ${retryAfterS} s` },
  )
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
