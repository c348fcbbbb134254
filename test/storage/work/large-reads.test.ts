import t from 'tap'
import { createLargeReads } from '../../../src/storage/work/large-reads.js'
import { rejectsWith } from '../../support/rejects-with.js'

t.test('large reads: turns in the order of asking, as far as the bytes go', async (t) => {
  const reads = createLargeReads(10)
  const order: string[] = []
  const ask = async (name: string, bytes: number) => {
    const end = await reads.take(bytes, undefined)
    order.push(name)
    return end
  }
  const first = await ask('first', 6)
  const second = ask('second', 6)
  const third = ask('third', 1)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(order, ['first'], 'a smaller one does not overtake')
  first()
  first()
  await Promise.all([second, third])
  t.same(order, ['first', 'second', 'third'], 'and both fit at the same time')
  const all = ask('all', 100)
  ;(await second)()
  ;(await third)()
  await all
  t.same(order.at(-1), 'all', 'more than there is counts as all')
})

t.test('large reads: a caller that has gone, or waited too long, lets the next one in', async (t) => {
  const reads = createLargeReads(10, 20)
  const end = await reads.take(8, undefined)
  const gone = new AbortController()
  const cancelled = reads.take(8, gone.signal)
  const small = reads.take(2, undefined)
  gone.abort()
  await rejectsWith(t, cancelled, 'CANCELLED')
  ;(await small)()
  await rejectsWith(t, reads.take(8, undefined), 'BUSY', {
    message: /^Other answers with large values were not read within 20 ms; try again$/,
  })
  await rejectsWith(t, reads.take(1, AbortSignal.abort()), 'CANCELLED')
  end()
  ;(await reads.take(10, undefined))()
})
