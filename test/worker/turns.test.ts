import t from 'tap'
import { createTurns, type Turns } from '../../src/worker/turns.js'

/** A job that works for a while in each of its turns. */
async function work(
  { turns, clock, seen }: Thread,
  owner: string,
  { slices, ms }: { slices: number; ms: number },
): Promise<void> {
  const nextTurn = turns.enter(owner)
  for (let slice = 0; slice < slices; slice++) {
    await nextTurn()
    seen.push(owner)
    clock.ms += ms
  }
}

interface Thread {
  readonly turns: Turns
  readonly clock: { ms: number }
  readonly seen: string[]
}

function createThread(): Thread {
  const clock = { ms: 0 }
  return { turns: createTurns(() => clock.ms), clock, seen: [] }
}

t.test('turns: owners take turns, whatever the number of their jobs', async (t) => {
  const thread = createThread()
  const of = (owner: string) => work(thread, owner, { slices: 3, ms: 5 })
  await Promise.all([of('many'), of('many'), of('many'), of('one')])
  t.equal(thread.seen.join(' '), 'many one many one many one many many many many many many')
})

t.test('turns: a fresh job comes before the next turn of those that have used much', async (t) => {
  const thread = createThread()
  const long = work(thread, 'long', { slices: 8, ms: 5 })
  while (thread.seen.length < 5) await new Promise((resolve) => setImmediate(resolve))
  await work(thread, 'fresh', { slices: 2, ms: 1 })
  t.equal(thread.seen.slice(5).join(' '), 'fresh fresh', 'both turns, since they are short')
  await long
})

t.test('turns: an owner saves up no time while it has no jobs', async (t) => {
  const thread = createThread()
  await work(thread, 'early', { slices: 1, ms: 1 })
  await work(thread, 'late', { slices: 100, ms: 5 })
  thread.seen.length = 0
  const slices = { slices: 4, ms: 5 }
  await Promise.all([work(thread, 'late', slices), work(thread, 'early', slices)])
  t.equal(thread.seen.filter((owner, at) => owner === 'late' && at < 4).length, 2, 'half of the first four')
})

t.test('turns: an owner whose slices are long has fewer of them', async (t) => {
  const thread = createThread()
  const heavy = work(thread, 'heavy', { slices: 4, ms: 20 })
  await work(thread, 'light', { slices: 8, ms: 5 })
  t.equal(thread.seen.filter((owner) => owner === 'heavy').length, 2, '40 ms beside the 40 ms of the other')
  await heavy
})

t.test(
  'turns: a job that finds the thread idle begins at once, the next one after the loop has turned',
  async (t) => {
    const { turns } = createThread()
    const begun: string[] = []
    const first = turns
      .enter('one')()
      .then(() => begun.push('first'))
    const second = turns
      .enter('other')()
      .then(() => begun.push('second'))
    await first
    begun.push('message')
    await second
    t.same(begun, ['first', 'message', 'second'])
  },
)
