import fc from 'fast-check'
import t from 'tap'
import { createByteBudget, type Share } from '../../src/http/byte-budget.js'
import { rejectsWith } from '../support/rejects-with.js'

const budgetOf = (totalBytes: number, more: object = {}) =>
  createByteBudget({ totalBytes, maxWaitingPerOwner: 100, maxWaiting: 1000, waitMs: 600_000, ...more })

/** Settles what has been granted. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('budget: one owner gets at most half, several leave room for one more', async (t) => {
  const budget = budgetOf(100)
  const taken: Share[] = []
  for (let i = 0; i < 5; i++) taken.push(budget.takeNow('a', 10))
  t.throws(() => budget.takeNow('a', 10), /No memory is free/)
  t.doesNotThrow(() => budget.takeNow('b', 20), 'what is left')
  t.throws(() => budget.takeNow('b', 10))
  t.doesNotThrow(() => budget.takeNow('c', 30), 'an owner that holds nothing may have all that is free')
  t.throws(() => budget.takeNow('d', 1))
  t.match(budget.facts(), { usedBytes: 100, waiting: 0, refused: 3 })
  for (const share of taken) {
    share.release()
    share.release() // a second call does nothing
  }
  t.equal(budget.facts().usedBytes, 50)
})

t.test('budget: waiting owners have turns, each in its own order', async (t) => {
  const budget = budgetOf(10)
  const first = await budget.take('z', 10)
  const order: string[] = []
  const shares: Share[] = []
  const ask = async (owner: string, name: string) => {
    shares.push(await budget.take(owner, 10))
    order.push(name)
  }
  const all = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('b', 'b1'), ask('c', 'c1'), ask('b', 'b2')]
  await turn()
  t.equal(budget.facts().waiting, 6)
  first.release()
  for (let i = 0; i < 6; i++) {
    await turn()
    t.equal(order.length, i + 1, 'one at a time')
    shares[i]?.release()
  }
  await Promise.all(all)
  t.same(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  t.match(budget.facts(), { usedBytes: 0, waiting: 0 })
})

t.test('budget: a wait ends by hanging up, by its limit, and is refused in a crowd', async (t) => {
  const budget = budgetOf(10, { maxWaitingPerOwner: 2, maxWaiting: 3, waitMs: 50 })
  const held = await budget.take('z', 10)
  const gone = new AbortController()
  const hungUp = rejectsWith(
    t,
    budget.take('a', 1, () => gone.signal),
    'CANCELLED',
  )
  const late = rejectsWith(t, budget.take('a', 1), 'BUSY', {
    message: /within 50 ms \(limits\.bytesInFlight\)/,
  })
  await rejectsWith(t, budget.take('a', 1), 'BUSY', { message: /Too many/ })
  const other = rejectsWith(t, budget.take('b', 1), 'BUSY', { message: /within/ })
  await rejectsWith(t, budget.take('c', 1), 'BUSY', { message: /Too many/ })
  gone.abort()
  await Promise.all([hungUp, late, other])
  t.match(budget.facts(), { usedBytes: 10, waiting: 0 })
  held.release()
  t.equal(budget.facts().usedBytes, 0)
  const whole = await budget.take('a', 11)
  t.equal(budget.facts().usedBytes, 10, 'more than there is counts as all of it')
  whole.release()
})

t.test('budget: what is in memory already is counted beyond the limit, and others wait for it', async (t) => {
  const budget = budgetOf(10)
  const text = budget.note('a', 25)
  t.equal(budget.facts().usedBytes, 25)
  const next = budget.take('a', 0)
  await turn()
  t.equal(budget.facts().waiting, 1, 'even a request that takes nothing')
  t.doesNotThrow(() => budget.takeNow('b', 0).release(), 'of its own owner alone')
  text.release()
  ;(await next).release()
  t.match(budget.facts(), { usedBytes: 0, waiting: 0 })
})

t.test('property: never more than the total, everyone is served in the end, nothing leaks', async (t) => {
  const request = fc.record({ owner: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 0, max: 12 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 40 }), async (requests) => {
      const budget = budgetOf(10)
      let served = 0
      const all = requests.map(async ({ owner, bytes }) => {
        const share = await budget.take(owner, bytes)
        if (budget.facts().usedBytes > 10) throw new Error('beyond the total')
        await turn()
        served++
        share.release()
      })
      await Promise.all(all)
      const { usedBytes, waiting } = budget.facts()
      return served === requests.length && usedBytes === 0 && waiting === 0
    }),
    { numRuns: 200 },
  )
  t.pass()
})
