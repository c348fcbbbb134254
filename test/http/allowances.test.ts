import fc from 'fast-check'
import t from 'tap'
import { createAllowances } from '../../src/http/allowances.js'

t.test('allowances: all at once, then steadily, never more than a minute has', async (t) => {
  const clock = { ms: 0 }
  const { take } = createAllowances({ perMinute: 6, maxOwners: 10, nowMs: () => clock.ms })
  for (let i = 0; i < 6; i++) t.equal(take('a'), 0)
  t.equal(take('a'), 10_000, 'the next one in a sixth of a minute')
  clock.ms = 9_999
  t.equal(take('a'), 1)
  clock.ms = 10_000
  t.equal(take('a'), 0)
  t.equal(take('a'), 10_000)
  t.equal(take('b', 6), 0, 'another owner has its own')
  t.equal(take('b', 7), 70_000)
  clock.ms = 10_000_000
  t.equal(take('a', 6), 0)
  t.equal(take('a'), 10_000, 'an allowance does not grow beyond a minute')
})

t.test('allowances: the owners in memory are bounded, the quietest is forgotten first', async (t) => {
  const { take, size } = createAllowances({ perMinute: 1, maxOwners: 3, nowMs: () => 0 })
  for (const owner of ['a', 'b', 'c']) t.equal(take(owner), 0)
  t.ok(take('a') > 0)
  t.equal(take('d'), 0)
  t.equal(size(), 3)
  t.ok(take('a') > 0, 'asked since')
  t.equal(take('b'), 0, 'forgotten')
  for (let i = 0; i < 10_000; i++) take(`x${i}`)
  t.equal(size(), 3)
})

t.test('property: what is taken in any span fits the span and one minute ahead', async () => {
  const step = fc.record({ afterMs: fc.nat(30_000), amount: fc.integer({ min: 1, max: 9 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = { ms: 0 }
      const { take } = createAllowances({ perMinute: 10, maxOwners: 5, nowMs: () => clock.ms })
      let taken = 0
      for (const { afterMs, amount } of steps) {
        clock.ms += afterMs
        const waitMs = take('a', amount)
        if (waitMs === 0) taken += amount
        if (taken > 10 + (clock.ms * 10) / 60_000 + 1e-6) return false
      }
      return true
    }),
  )
})
