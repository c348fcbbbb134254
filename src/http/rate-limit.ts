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
  countFailure(address: string, keyId: string | null): Promise<SignInFailure>
  /** ends the exchange with other processes */
  stop(): void
}

/** Use of allowances with the same limit. */
export interface TakenAllowances {
  readonly perMinute: number
  /** owner → amount */
  readonly taken: ReadonlyMap<string, number>
}

/** Allowances that several processes share. */
export interface SharedAllowances {
  /**
   * Takes what this process has let pass.
   *
   * @returns owner → what is left of all processes, below 0 where they let pass more together
   */
  take(groups: readonly TakenAllowances[]): Promise<ReadonlyMap<string, number>>
}

interface LimiterOptions {
  /** clock that never goes back, ms */
  readonly nowMs?: () => number
  /** absent for a process that is alone */
  readonly shared?: SharedAllowances
  /** receives an exchange that failed: until the next one each process counts for itself */
  readonly onFault?: (error: unknown) => void
  /** time between two exchanges, ms */
  readonly exchangeMs?: number
}

/** Owners that each table of allowances remembers: some 400 kB a table. */
const MAX_OWNERS = 4096
/** Anonymous requests of all addresses together, in allowances of one address. */
const ANONYMOUS_SHARE = 20
/** Failures of one address over all keys, in allowances of one key. */
const KEYS_PER_ADDRESS = 4
/** Longest key id in a table; a longer one is not an id of this gateway. */
const MAX_ID_CHARS = 64
/** Time between two exchanges with other processes, ms: what they let pass too much together. */
const EXCHANGE_MS = 1000

/**
 * Makes the allowances of callers. They are held in memory, so that a restart resets them.
 *
 * Where processes share them, each lets pass what its own memory allows, and exchanges with the others once a second
 * what that was. Failed sign-ins are exchanged at once, as long as this process would let them pass: the allowance is
 * that of all processes together.
 */
export function createRateLimiter(limits: RateLimits, options: LimiterOptions = {}): RateLimiter {
  const clock = options.nowMs === undefined ? {} : { nowMs: options.nowMs }
  const tables = new Map<string, Allowances>()
  const table = (name: string, perMinute: number, maxOwners = MAX_OWNERS) => {
    const made = createAllowances({ ...clock, perMinute, maxOwners, isShared: options.shared !== undefined })
    tables.set(name, made)
    return made
  }
  const byKey = table('key', limits.callsPerMinutePerKey)
  const byAddress = table('address', limits.callsPerMinutePerAddress)
  const anonymous = table('anonymous', limits.anonymousPerMinute)
  const allAnonymous = table('anonymous of all', limits.anonymousPerMinute * ANONYMOUS_SHARE, 1)
  const exchange = createExchange(tables, options)
  const timer =
    options.shared === undefined
      ? undefined
      : setInterval(exchange, options.exchangeMs ?? EXCHANGE_MS).unref()
  const perMinute = limits.signInFailuresPerMinute
  const failures = {
    byKey: table('failures', perMinute),
    byAddress: table('failures of an address', perMinute * KEYS_PER_ADDRESS),
    beyond: createAllowances({ ...clock, perMinute: 1, maxOwners: MAX_OWNERS }), // one report a minute for each
  }
  return {
    async charge(keyId, address, calls) {
      refuseAfter(byKey.take(keyId, calls), 'calls of this key')
      refuseAfter(byAddress.take(networkOf(address), calls), 'calls of this address')
    },
    chargeAnonymous(address) {
      refuseAfter(anonymous.take(networkOf(address)), 'requests of this address without credentials')
      refuseAfter(allAnonymous.take('all'), 'requests without credentials')
    },
    async countFailure(address, keyId) {
      const network = networkOf(address)
      const pair = `${network} ${keyId === null ? '' : keyId.slice(0, MAX_ID_CHARS)}`
      const takeHere = () => Math.max(failures.byKey.take(pair), failures.byAddress.take(network))
      let waitMs = takeHere()
      if (waitMs === 0 && options.shared !== undefined) {
        await exchange()
        waitMs = Math.max(failures.byKey.debtMs(pair), failures.byAddress.debtMs(network))
      }
      if (waitMs === 0) return { retryAfterS: undefined, isFirstBeyond: false }
      return { retryAfterS: secondsOf(waitMs), isFirstBeyond: failures.beyond.take(network) === 0 }
    },
    stop: () => clearInterval(timer),
  }
}

/** Makes the exchange of all tables with other processes. Its failure is reported, and changes no allowance. */
function createExchange(
  tables: ReadonlyMap<string, Allowances>,
  { shared, onFault = () => undefined }: LimiterOptions,
): () => Promise<void> {
  return async () => {
    const groups = [...tables].flatMap(([name, allowances]) => {
      const taken = new Map(
        [...allowances.takeSpent()].map(([owner, amount]) => [`${name} ${owner}`, amount]),
      )
      return taken.size === 0 ? [] : [{ perMinute: allowances.perMinute, taken }]
    })
    if (shared === undefined || groups.length === 0) return
    try {
      const left = await shared.take(groups)
      for (const [name, allowances] of tables)
        for (const [owner, amount] of left)
          if (owner.startsWith(`${name} `)) allowances.lower(owner.slice(name.length + 1), amount)
    } catch (error) {
      onFault(error)
    }
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
