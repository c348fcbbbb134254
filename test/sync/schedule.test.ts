import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Engine } from '../../src/sync/engine.js'
import { refused, unreachable } from '../../src/sync/faults.js'
import { schedule } from '../../src/sync/schedule.js'
import { engineOf, outboxParts, rowOf } from '../support/outbox.js'

async function setUp(t: Test) {
  const at = await outboxParts(t)
  const engine = await engineOf(at.deps, at.state)
  t.teardown(async () => {
    for (const { abort } of engine.active.values()) abort.abort(new Error('the test ends'))
    await Promise.all([...engine.active.values()].map(({ done }) => done))
  })
  /** transfers whose attempts have begun, in order */
  const begun = () => at.attempts.map(({ transferId }) => transferId)
  /** ends the last attempt, and waits until that is recorded */
  const end = async (how: 'deliver' | Error) => {
    const last = at.attempts.at(-1)
    const running = engine.active.get(last?.transferId ?? -1)
    if (how === 'deliver') last?.deliver()
    else last?.fail(how)
    await running?.done
  }
  return { ...at, engine, begun, end }
}

t.test('schedule: one attempt for each lane, the first transfer of it', async (t) => {
  const { engine, upstream, queue, begun, state } = await setUp(t)
  const [a, b] = [await upstream(), await upstream()]
  const first = await queue(a)
  await queue(a)
  const other = await queue(b)
  const fetch = await queue(a, 'fetch')
  t.equal(await schedule(engine), 1000, 'nothing else can happen before the next poll')
  t.same(begun().sort(), [first, other, fetch].sort())
  t.equal((await rowOf(state, first)).state, 'sending')
  t.equal(await schedule(engine), 1000)
  t.equal(begun().length, 3, 'a lane with a running attempt waits for it')
})

t.test(
  'schedule: at most `concurrency` attempts; lanes take turns, the longest waiting one first',
  async (t) => {
    const { engine, upstream, queue, begun, end, clock } = await setUp(t)
    engine.concurrency = 1
    const [a, b] = [await upstream(), await upstream()]
    const ofA = [await queue(a), await queue(a)]
    const ofB = [await queue(b), await queue(b)]
    for (let i = 0; i < 4; i++) {
      await schedule(engine)
      t.equal(engine.active.size, 1)
      clock.ms += 10
      await end('deliver')
      t.equal(engine.active.size, 0)
      t.equal(engine.wakes, i + 1, 'the end of an attempt schedules')
    }
    t.same(begun(), [ofA[0], ofB[0], ofA[1], ofB[1]])
  },
)

/** Another program writes a switch; the number of changes leaves out what this connection wrote. */
async function byAnother(engine: Pick<Engine, 'seen'>, write: () => unknown): Promise<void> {
  await write()
  engine.seen = { ...engine.seen, changes: -1 }
}

t.test('schedule: nothing starts while paused, closed or stopped', async (t) => {
  const { engine, upstream, queue, begun, clock, state } = await setUp(t)
  await queue(await upstream())
  clock.reason = 'outside sync.windows'
  t.equal(await schedule(engine), 1000)
  clock.reason = null
  await byAnother(engine, () => state.control.setPaused(true))
  t.equal(await schedule(engine), 1000)
  t.equal(engine.isPaused, true)
  await byAnother(engine, () => state.control.setPaused(false))
  engine.isStopped = true
  t.equal(await schedule(engine), 1000)
  t.same(begun(), [])
  engine.isStopped = false
  await schedule(engine)
  t.equal(begun().length, 1)
})

t.test('schedule: a stop between two lanes starts no second attempt', async (t) => {
  const { engine, upstream, queue, begun } = await setUp(t)
  for (let i = 0; i < 2; i++) await queue(await upstream())
  const { begin } = engine.transfers
  engine.transfers = {
    ...engine.transfers,
    async begin(transferId) {
      engine.isStopped = true
      return await begin(transferId)
    },
  }
  await schedule(engine)
  t.equal(begun().length, 1)
})

t.test('schedule: a failed lane waits its time, the scheduler no longer than that', async (t) => {
  const { engine, upstream, queue, begun, end, clock } = await setUp(t)
  await queue(await upstream())
  await schedule(engine)
  await end(unreachable(new Error('down')))
  t.equal(await schedule(engine), 500, 'half of the base')
  t.equal(begun().length, 1)
  clock.ms += 499
  t.equal(await schedule(engine), 5, 'at least 5 ms')
  t.equal(begun().length, 1)
  clock.ms += 1
  t.equal(await schedule(engine), 1000)
  t.equal(begun().length, 2, 'exactly at the end of the wait')
})

t.test('schedule: a long wait does not keep the scheduler from looking each second', async (t) => {
  const { engine, upstream, queue, end } = await setUp(t)
  await queue(await upstream())
  await schedule(engine)
  await end(refused(429, '', { 'retry-after': '600' }))
  t.equal(await schedule(engine), 1000)
})

t.test('schedule: a lane without transfers is forgotten', async (t) => {
  const { engine, upstream, queue, end } = await setUp(t)
  await queue(await upstream())
  await schedule(engine)
  t.equal(engine.lanes.size, 1)
  await end('deliver')
  t.equal(engine.lanes.size, 1)
  t.equal(await schedule(engine), 1000)
  t.equal(engine.lanes.size, 0)
})

t.test('schedule: a transfer that keeps failing is overtaken, and its own wait is kept', async (t) => {
  const { engine, upstream, queue, begun, end, clock } = await setUp(t)
  const id = await upstream()
  const [bad, good] = [await queue(id), await queue(id)]
  for (let i = 0; i < 3; i++) {
    await schedule(engine)
    t.equal(begun().at(-1), bad)
    clock.random = i === 2 ? 0 : 0.5 // after the third failure the lane itself does not wait
    await end(refused(500, 'not this one'))
    clock.ms += 10_000
  }
  const stuck = [...engine.lanes.values()][0]?.stuck.get(bad)
  if (stuck !== undefined) stuck.notBeforeMs = clock.ms + 700
  await schedule(engine)
  t.equal(begun().at(-1), good, 'the next one of the lane')
  await end(unreachable(new Error('down')))
  clock.ms += 100
  await schedule(engine)
  t.equal(begun().at(-1), good, 'the one that was set aside still waits')
  await end('deliver')
  if (stuck !== undefined) stuck.notBeforeMs = clock.ms + 700
  t.equal(await schedule(engine), 700, 'the lane waits for the transfer that was set aside')
  clock.ms += 700
  await schedule(engine)
  t.equal(begun().at(-1), bad)
})

t.test('schedule: a transfer that was cancelled after it was read does not start', async (t) => {
  const { engine, upstream, queue, begun } = await setUp(t)
  await queue(await upstream())
  engine.transfers = { ...engine.transfers, begin: async () => false }
  t.equal(await schedule(engine), 1000)
  t.same([begun(), engine.active.size], [[], 0])
})

t.test('schedule: askNow of another program ends all waits', async (t) => {
  const { engine, upstream, queue, begun, end, state } = await setUp(t)
  await queue(await upstream())
  await schedule(engine)
  await end(unreachable(new Error('down')))
  await schedule(engine)
  t.equal(begun().length, 1)
  await byAnother(engine, () => state.control.askNow())
  await schedule(engine)
  t.equal(begun().length, 2)
  await end(unreachable(new Error('down')))
  await schedule(engine)
  t.equal(begun().length, 2, 'it was asked once')
})

t.test('schedule: an attempt is stopped when another program has cancelled its transfer', async (t) => {
  const { engine, upstream, queue, attempts, state } = await setUp(t)
  const [cancelled, other] = [await queue(await upstream()), await queue(await upstream())]
  await schedule(engine)
  let changes = 100
  engine.control = { ...engine.control, changeCount: async () => changes }
  await schedule(engine)
  await state.transfers.cancel(cancelled)
  await schedule(engine)
  t.same(
    attempts.map(({ signal }) => signal.aborted),
    [false, false],
    'rows are read only after a change',
  )
  changes++
  await schedule(engine)
  t.same(
    attempts.map(({ transferId, signal }) => [transferId, signal.aborted]),
    [
      [cancelled, true],
      [other, false],
    ],
  )
  t.match(attempts[0]?.signal.reason, { errorName: 'CANCELLED', data: { reason: 'cancelled' } })
  await turn()
  t.equal((await rowOf(state, cancelled)).state, 'failed')
})

t.test('schedule: a failure that could not be recorded is recorded by the next call', async (t) => {
  const { engine, upstream, queue, state } = await setUp(t)
  const id = await queue(await upstream())
  await state.transfers.begin(id)
  engine.unrecorded.add(id)
  const { putBack } = engine.transfers
  engine.transfers = { ...engine.transfers, putBack: () => Promise.reject(new Error('disk full')) }
  await t.rejects(schedule(engine), /disk full/)
  t.equal(engine.unrecorded.size, 1)
  engine.transfers = { ...engine.transfers, putBack }
  engine.isStopped = true // only to see the row before the next attempt
  await schedule(engine)
  t.equal(engine.unrecorded.size, 0)
  t.match(await rowOf(state, id), { state: 'queued', lastError: null })
})

t.test(
  'schedule: progress begins at the bytes that the receiver has, and its bytes are counted',
  async (t) => {
    const { engine, upstream, queue, attempts, state } = await setUp(t)
    const id = await queue(await upstream())
    await state.transfers.note(id, { bytesSent: 40 })
    await schedule(engine)
    const { progress } = attempts[0] ?? {}
    t.match(progress, { doneBytes: 40, movedBytes: 0 })
    progress?.onMoved(7)
    progress?.onMoved(3)
    t.equal(progress?.movedBytes, 10)
    t.match(engine.metrics.snapshot(), { bytes_sent: 10, bytes_fetched: 0 })
  },
)
