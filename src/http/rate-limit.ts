import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { AppError } from '../errors.js'

interface RateLimits {
  callsPerMinutePerKey: number
  callsPerMinutePerAddress: number
  signInFailuresPerMinute: number
}

export interface RateLimiter {
  /** takes calls from the allowances of a key and an address. @throws AppError RATE_LIMITED */
  charge(keyId: string, address: string, calls: number): Promise<void>
  /** @throws AppError RATE_LIMITED when an address has failed to sign in too often */
  mayTry(address: string): Promise<void>
  /** counts a failed sign-in. @returns true for the failure that locks the address out */
  countFailure(address: string): Promise<boolean>
}

/** Makes allowances per minute. They are held in memory, so that a restart resets them. */
export function createRateLimiter(limits: RateLimits): RateLimiter {
  const perMinute = (points: number) => new RateLimiterMemory({ points, duration: 60 })
  const byKey = perMinute(limits.callsPerMinutePerKey)
  const byAddress = perMinute(limits.callsPerMinutePerAddress)
  const failures = perMinute(limits.signInFailuresPerMinute)
  return {
    async charge(keyId, address, calls) {
      await take(byKey, keyId, calls, 'key')
      await take(byAddress, address, calls, 'address')
    },
    async mayTry(address) {
      const seen = await failures.get(address)
      if (seen !== null && seen.remainingPoints <= 0) refuse(seen, 'failed sign-ins of this address')
    },
    async countFailure(address) {
      const { consumedPoints } = await failures.penalty(address, 1)
      return consumedPoints === limits.signInFailuresPerMinute
    },
  }
}

async function take(limiter: RateLimiterMemory, id: string, calls: number, whose: string): Promise<void> {
  try {
    await limiter.consume(id, calls)
  } catch (refused) {
    if (refused instanceof Error) throw refused // the library rejects with a plain record when the allowance is used up
    refuse(refused as RateLimiterRes, `calls of this ${whose}`)
  }
}

function refuse(state: RateLimiterRes, what: string): never {
  const retryAfterS = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
  throw new AppError(
    'RATE_LIMITED',
    { retryAfterS },
    { message: `Too many ${what}; try again in ${retryAfterS} s` },
  )
}
