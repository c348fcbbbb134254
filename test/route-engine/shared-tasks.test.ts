import t from 'tap'
import { createSharedTasks } from '../../src/route-engine/shared-tasks.js'
import type { SlicedTask } from '../../src/routing/search/sliced-task.js'
import { rejectsWith } from '../support/rejects-with.js'

const going = () => ({ cancel: new Int32Array(new SharedArrayBuffer(4)) })

/** Works for longer than a turn of the event loop may take, `slices` times. */
function* slow(name: string, slices: number, order: string[]): SlicedTask<void> {
  for (let slice = 0; slice < slices; slice++) {
    order.push(name)
    const endMs = performance.now() + 6
    while (performance.now() < endMs);
    yield
  }
}

t.test('shared tasks: one task for each key at a time, and others between its slices', async (t) => {
  const run = createSharedTasks()
  const order: string[] = []
  let isMade = false
  const need = (name: string, key: string) => (isRunning: (key: string) => boolean) => {
    if (key === 'a' && isMade) return undefined
    return { key, task: isRunning(key) ? undefined : slow(name, 2, order) }
  }
  await Promise.all([
    run(need('first', 'a'), going()).then(() => {
      isMade = true
    }),
    run(need('second', 'a'), going()),
    run(need('other', 'b'), going()),
  ])
  t.same(order, ['first', 'other', 'first', 'other'])
  await run(need('third', 'a'), going())
  t.equal(order.length, 4, 'what is there is not made again')
})

t.test('shared tasks: who waited makes it when the other caller hangs up or fails', async (t) => {
  const run = createSharedTasks()
  const order: string[] = []
  const need = (name: string) => (isRunning: (key: string) => boolean) => ({
    key: 'a',
    task: isRunning('a') ? undefined : slow(name, 2, order),
  })
  const first = going()
  const gone = run(need('first'), first)
  const waited = run(need('second'), going())
  const alsoGone = going()
  const third = run(need('third'), alsoGone)
  Atomics.store(first.cancel, 0, 1)
  Atomics.store(alsoGone.cancel, 0, 1)
  await Promise.all([rejectsWith(t, gone, 'CANCELLED'), rejectsWith(t, third, 'CANCELLED'), waited])
  t.same(order, ['first', 'second', 'second'])

  // biome-ignore lint/correctness/useYield: it fails before its first pause
  function* broken(): SlicedTask<void> {
    throw new Error('broken')
  }
  await t.rejects(
    run(() => ({ key: 'b', task: broken() }), going()),
    { message: 'broken' },
  )
  await run(() => ({ key: 'b', task: slow('again', 1, order) }), going())
  t.equal(order.at(-1), 'again')
})
