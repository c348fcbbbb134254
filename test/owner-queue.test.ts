import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createOwnerQueue } from '../src/owner-queue.js'

t.test('owners have turns, and each owner its items in their order', (t) => {
  const queue = createOwnerQueue<string>()
  for (const item of ['a1', 'a2', 'a3']) queue.push('a', item)
  queue.push('b', 'b1')
  t.equal(queue.size(), 4)
  t.same([queue.take(), queue.take()], ['a1', 'b1'])
  queue.push('b', 'b2')
  t.same([queue.take(), queue.take(), queue.take(), queue.take()], ['a2', 'b2', 'a3', undefined])
  t.equal(queue.size(), 0)
  t.end()
})

t.test('an owner that never pauses gets its items in their order', (t) => {
  const queue = createOwnerQueue<number>()
  const taken: (number | undefined)[] = []
  let pushed = 0
  // two come while one goes, then one while two go: the array is cut with few and with many behind
  for (const [comes, goes] of [
    [2, 1],
    [1, 2],
    [1, 1],
  ] as const) {
    for (let round = 0; round < 299; round++) {
      for (let i = 0; i < comes; i++) queue.push('a', pushed++)
      for (let i = 0; i < goes; i++) taken.push(queue.take())
    }
  }
  while (queue.size() > 0) taken.push(queue.take())
  t.same(
    taken,
    Array.from({ length: pushed }, (_, i) => i),
  )
  t.end()
})

t.test('what was taken is not kept while others of its owner wait', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const queue = createOwnerQueue<object>()
  const fill = () => {
    for (let i = 0; i < 10; i++) queue.push('a', { i })
    return new WeakRef(queue.take() as object)
  }
  const ref = fill()
  await new Promise(setImmediate) // a WeakRef holds its object until the turn of the event loop ends
  collect()
  t.equal(ref.deref(), undefined)
  t.equal(queue.size(), 9)
})
