import fc from 'fast-check'
import t from 'tap'
import { backoffMs, retryAfterS, retryMs } from '../../src/sync/backoff.js'

t.test('property: backoffMs is full jitter below the cap', async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, random) => {
        const waitMs = backoffMs(failures, 5000, 1_800_000, random)
        return waitMs >= 0 && waitMs <= Math.min(1_800_000, 5000 * 2 ** Math.min(failures - 1, 40))
      },
    ),
  )
  t.same(
    [1, 2, 3, 10, 20].map((failures) => backoffMs(failures, 5000, 1_800_000, 1)),
    [5000, 10_000, 20_000, 1_800_000, 1_800_000],
  )
})

t.test('retryAfterS: seconds, a date, or neither', async (t) => {
  t.same(
    [
      retryAfterS('7', 0),
      retryAfterS('Thu, 01 Jan 1970 00:01:00 GMT', 0),
      retryAfterS('soon', 0),
      retryAfterS(undefined, 0),
    ],
    [7, 60, undefined, undefined],
  )
})

t.test('retryAfterS: a number of at most nine digits, white space around it ignored', async (t) => {
  t.equal(retryAfterS('0', 5), 0)
  t.equal(retryAfterS('120', 0), 120)
  t.equal(retryAfterS(' 7\t', 0), 7)
  t.equal(retryAfterS('999999999', 0), 999_999_999)
  for (const header of ['', ' ', '5 seconds', '-', 'NaN', 'Infinity', '1e']) {
    t.equal(retryAfterS(header, 0), undefined, JSON.stringify(header))
  }
})

t.test('retryAfterS: a date counts from now; one that has passed asks for no wait', async (t) => {
  const date = 'Thu, 01 Jan 1970 00:01:00 GMT'
  t.equal(retryAfterS(date, 59_500), 0.5)
  t.equal(retryAfterS(date, 60_000), 0)
  t.equal(retryAfterS(date, 60_001), 0)
  t.equal(retryAfterS('-5', Date.UTC(2026, 0)), 0, 'no wait is negative')
})

t.test(
  'property: retryMs waits as long as was asked for, and at random for up to half of it more',
  async (t) => {
    const waits = { baseMs: 5000, capMs: 1_800_000 }
    const number = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 0, max: 600 }),
        number,
        (failures, askedS, random) => {
          const waitMs = retryMs(failures, waits, askedS, () => random)
          const ownMs = backoffMs(failures, 5000, 1_800_000, random)
          return waitMs >= askedS * 1000 && waitMs >= ownMs && waitMs <= Math.max(askedS * 1500, ownMs)
        },
      ),
    )
    t.same(
      [0, 0.5, 1].map((random) => retryMs(1, waits, 20, () => random)),
      [20_000, 25_000, 30_000],
    )
  },
)
