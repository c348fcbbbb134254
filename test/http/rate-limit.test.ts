import t from 'tap'
import { createRateLimiter, type SharedAllowances } from '../../src/http/rate-limit.js'
import { rejectsWith } from '../support/rejects-with.js'

const LIMITS = {
  callsPerMinutePerKey: 60,
  callsPerMinutePerAddress: 600,
  anonymousPerMinute: 60,
  signInFailuresPerMinute: 3,
}

/** Allowances in memory that do not refill. */
function sharedMemory(): SharedAllowances & { isAway: boolean } {
  const left = new Map<string, number>()
  return {
    isAway: false,
    async take(groups) {
      if (this.isAway) throw new Error('the database is away')
      const answer = new Map<string, number>()
      for (const { perMinute, taken } of groups)
        for (const [owner, amount] of taken) {
          left.set(owner, (left.get(owner) ?? perMinute) - amount)
          answer.set(owner, left.get(owner) ?? 0)
        }
      return answer
    },
  }
}

t.test('rate limit: failed sign-ins of all processes count together, at once', async (t) => {
  const shared = sharedMemory()
  const options = { shared, nowMs: () => 0, exchangeMs: 1e9 }
  const [one, two] = [createRateLimiter(LIMITS, options), createRateLimiter(LIMITS, options)]
  t.teardown(() => [one, two].map((limiter) => limiter.stop()))
  for (const limiter of [one, two, one])
    t.equal((await limiter.countFailure('192.0.2.1', 'k')).retryAfterS, undefined)
  t.match(await two.countFailure('192.0.2.1', 'k'), { retryAfterS: 20, isFirstBeyond: true })
  t.ok(((await one.countFailure('192.0.2.1', 'k')).retryAfterS ?? 0) > 0)
  t.equal(
    (await one.countFailure('192.0.2.1', 'other')).retryAfterS,
    undefined,
    'another key is not affected',
  )
  t.equal((await two.countFailure('192.0.2.9', 'k')).retryAfterS, undefined, 'nor is another address')
})

t.test('rate limit: calls of all processes count together after an exchange', async (t) => {
  let atMs = 0
  const shared = sharedMemory()
  const make = () => createRateLimiter(LIMITS, { shared, nowMs: () => atMs, exchangeMs: 5 })
  const [one, two] = [make(), make()]
  t.teardown(() => [one, two].map((limiter) => limiter.stop()))
  await one.charge('k', '192.0.2.1', 50)
  await two.charge('k', '192.0.2.1', 50)
  const isRefused = async () => {
    try {
      await two.charge('k', '192.0.2.1', 1)
      return false
    } catch {
      return true
    }
  }
  while (!(await isRefused())) await new Promise((resolve) => setTimeout(resolve, 5))
  await rejectsWith(t, two.charge('k', '192.0.2.1', 1), 'RATE_LIMITED')
  await two.charge('other', '192.0.2.1', 1)
  atMs = 120_000
  await two.charge('k', '192.0.2.1', 1)
})

t.test('rate limit: without the shared memory each process counts for itself', async (t) => {
  const shared = sharedMemory()
  shared.isAway = true
  const faults: unknown[] = []
  const limiter = createRateLimiter(LIMITS, {
    shared,
    nowMs: () => 0,
    onFault: (error) => faults.push(error),
  })
  t.teardown(() => limiter.stop())
  for (let i = 0; i < 3; i++) t.equal((await limiter.countFailure('192.0.2.1', null)).retryAfterS, undefined)
  t.equal((await limiter.countFailure('192.0.2.1', null)).retryAfterS, 20)
  t.match(faults, [{ message: 'the database is away' }])
})
