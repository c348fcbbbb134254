import t from 'tap'
import { createRequestTurns } from '../../../src/http/server/request-turns.js'

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve))

t.test('request turns: what comes while there is little to do begins at once', async (t) => {
  const turns = createRequestTurns(() => 0)
  let begun = 0
  for (let i = 0; i < 100; i++) turns.run('a', () => begun++)
  t.equal(begun, 100)
})

t.test('request turns: the event loop turns between slices, and clients have turns', async (t) => {
  const clock = { ms: 0 }
  const turns = createRequestTurns(() => clock.ms)
  const order: string[] = []
  const ask = (name: string) =>
    turns.run(name, () => {
      clock.ms += 1.2 // two begin in a slice of 2 ms
      order.push(name)
    })
  for (let i = 0; i < 6; i++) ask('many')
  ask('single')
  t.same(order, ['many', 'many'], 'the others wait')
  await turnOfLoop()
  t.same(order, ['many', 'many', 'many', 'single'])
  ask('many')
  t.equal(order.length, 4, 'nobody overtakes who waits')
  await turnOfLoop()
  await turnOfLoop()
  t.same(order, ['many', 'many', 'many', 'single', 'many', 'many', 'many', 'many'])
  await turnOfLoop()
  ask('late')
  t.equal(order.at(-1), 'late')
})

t.test('request turns: slices are short while connections are accepted, one in each turn', async (t) => {
  const clock = { ms: 0 }
  const turns = createRequestTurns(() => clock.ms)
  let begun = 0
  const work = () => {
    clock.ms += 0.4
    begun++
  }
  for (let i = 0; i < 30; i++) turns.run('a', work)
  t.equal(begun, 5)
  turns.accepted()
  await turnOfLoop()
  t.equal(begun, 7)
  await turnOfLoop()
  t.equal(begun, 12, 'none was accepted in this turn')
})

t.test('request turns: work that throws keeps nobody waiting', async (t) => {
  const turns = createRequestTurns(() => 0)
  t.throws(() =>
    turns.run('a', () => {
      throw new Error('no')
    }),
  )
  let begun = 0
  turns.run('b', () => begun++)
  t.equal(begun, 1)
})
