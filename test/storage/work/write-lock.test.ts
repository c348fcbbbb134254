import t from 'tap'
import { createWriteLock } from '../../../src/storage/work/write-lock.js'

t.test('write lock: owners have turns, and the work of one is done in its order', async (t) => {
  const lock = createWriteLock()
  const order: string[] = []
  let running = 0
  const work = (name: string, owner?: string) =>
    lock.run(async () => {
      t.equal(++running, 1, 'nobody else writes')
      await new Promise((resolve) => setImmediate(resolve))
      running--
      order.push(name)
    }, owner)
  await Promise.all([work('a1', 'a'), work('a2', 'a'), work('a3', 'a'), work('b1', 'b'), work('own')])
  t.same(order, ['a1', 'b1', 'own', 'a2', 'a3'])
})

t.test('write lock: a failure concerns its own caller, and work that comes late is done', async (t) => {
  const lock = createWriteLock()
  const failed = lock.run(() => {
    throw new Error('no')
  })
  t.equal(await lock.run(() => 7), 7)
  await t.rejects(failed, /no/)
  t.equal(await lock.run(async () => 8), 8)
})

t.test(
  'write lock: who watches is called after each work, also one that failed, until it ends that',
  async (t) => {
    const lock = createWriteLock()
    const order: string[] = []
    const end = lock.watch(() => order.push('called'))
    await lock.run(() => order.push('work'))
    await lock.run(() => Promise.reject(new Error('no'))).catch(() => order.push('failed'))
    t.same([...order].sort(), ['called', 'called', 'failed', 'work'])
    t.ok(order.indexOf('work') < order.indexOf('called'))
    end()
    await lock.run(() => order.push('later'))
    t.equal(order.filter((one) => one === 'called').length, 2)
  },
)

t.test('write lock: it knows for how long it was held, also while it is', async (t) => {
  const lock = createWriteLock()
  t.equal(lock.heldMs(), 0)
  let within = 0
  await lock.run(() => {
    const untilMs = performance.now() + 3
    while (performance.now() < untilMs);
    within = lock.heldMs()
  })
  await new Promise((resolve) => setImmediate(resolve))
  const held = lock.heldMs()
  t.ok(within >= 3 && held >= within)
  t.equal(lock.heldMs(), held, 'not while nobody holds it')
})
