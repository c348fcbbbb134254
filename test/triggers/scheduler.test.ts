import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../src/errors.js'
import type { TriggerOn } from '../../src/storage/triggers.js'
import { readSchedule } from '../../src/triggers/schedule.js'
import { START_MS } from '../support/memory-state.js'
import { triggerWorld } from '../support/triggers.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const every = (schedule: string, more: object = {}): TriggerOn => ({
  ...{ kind: 'schedule', schedule, timeZone: 'UTC', catchesUp: false, ...more },
})
const times = (runs: readonly { state: string; dueAtUs: number; count: number }[]) =>
  runs.map(({ state, dueAtUs, count }) => [state, (dueAtUs / 1000 - START_MS) / MINUTE_MS, count])

t.test('triggers: a schedule runs at its times, and missed ones are told', async (t) => {
  const world = await triggerWorld(t)
  await world.add('a', every('*/10 * * * *'))
  await world.start()
  await world.look()
  t.same(world.begun, [])
  world.state.advance(10 * MINUTE_MS + 500)
  await world.look()
  t.same(world.begun, ['a'])
  world.going[0]?.end({ runId: 'r1', lastLines: 'said' })
  await world.look()
  t.match(await world.runs(), [{ state: 'done', runId: 'r1', exitCode: 0, attempts: 1, lastLines: 'said' }])
  world.state.advance(HOUR_MS)
  await world.look()
  t.same(world.begun, ['a', 'a'], 'of those that came together the last one')
  world.going[0]?.end()
  await world.look()
  t.same(times(await world.runs()), [
    ...[
      ['done', 10, 1],
      ['missed', 20, 5],
      ['done', 70, 1],
    ],
  ])
  world.state.advance(HOUR_MS + 5 * MINUTE_MS)
  await world.look()
  t.same(times(await world.runs()).at(-1), ['missed', 80, 6], 'the last one is too late as well')
  t.equal(world.begun.length, 2)
})

t.test('triggers: one that catches up runs the last of the missed times', async (t) => {
  const world = await triggerWorld(t)
  await world.add('a', every('0 * * * *', { catchesUp: true }))
  world.state.advance(5.5 * HOUR_MS)
  await world.start()
  await world.look()
  t.same(times(await world.runs()), [
    ['missed', 60, 4],
    ['running', 300, 1],
  ])
})

t.test('triggers: while the clock is wrong no schedule starts', async (t) => {
  const world = await triggerWorld(t)
  await world.add('a', every('* * * * *'))
  await world.start()
  world.state.advance(-HOUR_MS)
  await world.look()
  world.state.advance(30 * MINUTE_MS)
  await world.look()
  t.same(world.begun, [])
  world.state.advance(31 * MINUTE_MS)
  await world.look()
  t.same(world.begun, ['a'])
})

t.test('triggers: a change of a table, a model, and the start of the gateway', async (t) => {
  const world = await triggerWorld(t)
  world.tables.set('x', { tableId: 1, change: 7 })
  await world.add('row', { kind: 'table', table: 'x' })
  await world.add('later', { kind: 'table', table: 'y' })
  await world.add('boot', { kind: 'startup' })
  await world.add('off', { kind: 'startup' }, { isEnabled: false })
  await world.start()
  await world.look()
  t.same(world.begun, ['boot'])
  world.tables.set('x', { tableId: 1, change: 9 })
  await world.look()
  t.same(world.begun, ['boot', 'row'])
  await world.look()
  t.same(world.begun, ['boot', 'row'], 'once')
  world.tables.set('x', { tableId: 1, change: 10 })
  await world.look()
  t.same(world.begun, ['boot', 'row'], 'not beside the run before')
  world.going.find(({ module }) => module === 'row')?.end()
  await world.look()
  t.same(world.begun, ['boot', 'row', 'row'], 'after it')
  world.going.find(({ module }) => module === 'row')?.end()
  world.tables.set('y', { tableId: 3, change: 1 })
  world.tables.set('x', { tableId: 2, change: 1 })
  await world.look()
  t.same(world.begun.slice(3).sort(), ['later', 'row'], 'a new table, and one that was made anew')
})

t.test('triggers: a start while a run goes on is skipped, waits, or takes its place', async (t) => {
  const world = await triggerWorld(t)
  for (const overlap of ['skip', 'queue', 'cancel'] as const)
    await world.add(overlap, every('*/5 * * * *'), { overlap })
  await world.start()
  for (let at = 0; at < 3; at++) {
    world.state.advance(5 * MINUTE_MS)
    await world.look()
  }
  t.same(times(await world.runs('skip')), [
    ['running', 5, 1],
    ['skipped', 10, 1],
    ['skipped', 15, 1],
  ])
  t.same(times(await world.runs('queue')), [['running', 5, 1]])
  t.same(times(await world.runs('cancel')), [
    ['cancelled', 5, 1],
    ['cancelled', 10, 1],
    ['running', 15, 1],
  ])
  for (const { module, end } of [...world.going]) if (module === 'queue') end()
  await world.look()
  t.same(times(await world.runs('queue')), [
    ['done', 5, 1],
    ['skipped', 10, 1],
    ['running', 15, 1],
  ])
})

t.test('triggers: failures are tried again, and told with what is known', async (t) => {
  const world = await triggerWorld(t)
  await world.add('a', { kind: 'startup' }, { retries: 1 })
  await world.start()
  await world.look()
  const data = { run_id: 'r', exit_code: 3, stderr: 'no rain' }
  world.going[0]?.end(new AppError('MODULE_FAILED', data, { message: 'a.m ended with exit code 3' }))
  await world.look()
  t.match(await world.runs(), [{ state: 'running', attempts: 1, error: 'MODULE_FAILED' }])
  world.going[0]?.end(new AppError('MODULE_FAILED', data, { message: 'a.m ended with exit code 3' }))
  await world.look()
  t.match(await world.runs(), [
    { state: 'failed', attempts: 2, runId: 'r', exitCode: 3, message: /exit code 3/, lastLines: 'no rain' },
  ])
  world.rights = undefined
  const [trigger] = await world.state.triggers.list()
  if (trigger === undefined) throw new Error('no trigger')
  const scheduler = await world.start()
  await world.look()
  t.match((await world.runs()).at(-1), {
    state: 'failed',
    error: 'FORBIDDEN',
    message: /was revoked/,
    attempts: 2,
  })
  world.rights = ['dataproc:read']
  t.equal(typeof (await scheduler.startNow(trigger)), 'number')
  await world.look()
  t.match((await world.runs()).at(-1), { state: 'failed', message: /lacks the scope dataproc:write/ })
  world.rights = ['admin']
  await scheduler.startNow(trigger)
  await world.look()
  world.going[0]?.end(new Error('a bug'))
  await world.look()
  world.going[0]?.end(new Error('a bug'))
  await world.look()
  t.match((await world.runs()).at(-1), { state: 'failed', error: 'INTERNAL', message: /its log/ })
})

t.test('triggers: runs that the end of the gateway interrupted begin again, three times', async (t) => {
  const world = await triggerWorld(t)
  world.tables.set('x', { tableId: 1, change: 7 })
  await world.add('a', { kind: 'table', table: 'x' }, { mark: null })
  for (let start = 0; start < 5; start++) {
    await world.start()
    await world.look()
    await world.die()
  }
  t.equal(world.begun.length, 4)
  await world.start()
  t.same(
    (await world.runs()).map(({ state, interruptions }) => [state, interruptions]),
    [
      ...[
        ['interrupted', 0],
        ['interrupted', 1],
        ['interrupted', 2],
        ['interrupted', 3],
      ],
    ],
  )
})

t.test(
  'property: each time of a schedule has one run or is told, over changes of clocks and restarts',
  async () => {
    const zones = ['UTC', 'Europe/Lisbon', 'Australia/Lord_Howe', 'America/St_Johns', 'Asia/Tokyo']
    const schedules = ['*/15 * * * *', '30 1 * * *', '0,45 0-3 * * *', '5 */2 * * *']
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 5 * HOUR_MS }) }),
        fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 20 * MINUTE_MS }) }),
        fc.record({ kind: fc.constant('back' as const), ms: fc.integer({ min: 1, max: 3 * HOUR_MS }) }),
        fc.constant({ kind: 'end' as const, ms: 0 }),
        fc.constant({ kind: 'restart' as const, ms: 0 }),
      ),
      { minLength: 5, maxLength: 40 },
    )
    const overlaps = fc.constantFrom('skip' as const, 'queue' as const, 'cancel' as const)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...zones),
        fc.constantFrom(...schedules),
        fc.record({ overlap: overlaps, catchesUp: fc.boolean(), month: fc.constantFrom(0, 3, 10) }),
        steps,
        async (timeZone, schedule, { overlap, catchesUp, month }, moves) => {
          const ends: (() => unknown)[] = []
          const world = await triggerWorld({ teardown: (work) => ends.push(work) })
          // begins before the days on which clocks change in the north and the south
          world.state.advance(Date.UTC(2027, month, 24) - START_MS)
          await world.add('a', every(schedule, { timeZone, catchesUp }), { overlap })
          const [{ mark } = { mark: null }] = await world.state.triggers.list()
          const beginUs = mark !== null && 'atUs' in mark ? mark.atUs : 0
          await world.start()
          for (const { kind, ms } of moves) {
            if (kind === 'pass' || kind === 'wait') world.state.advance(ms)
            if (kind === 'back') world.state.advance(-ms)
            if (kind === 'end') world.going[0]?.end()
            if (kind === 'restart') {
              await world.die()
              await world.start()
            }
            await world.look()
          }
          world.state.advance(4 * HOUR_MS)
          await world.look()
          while (world.going.length > 0) {
            world.going[0]?.end()
            await world.look()
          }
          const read = readSchedule(schedule, timeZone)
          if ('fault' in read) throw new Error(read.fault)
          const runs = (await world.runs()).filter(({ interruptions }) => interruptions === 0)
          const untilUs = Math.max(beginUs, ...runs.map((run) => run.untilUs))
          let told = 0
          for (let at = read.next(beginUs); at !== undefined && at <= untilUs; at = read.next(at)) {
            const of = runs.filter(({ dueAtUs, untilUs: last }) => dueAtUs <= (at ?? 0) && (at ?? 0) <= last)
            if (of.length !== 1)
              throw new Error(`${of.length} entries for ${new Date(at / 1000).toISOString()}`)
            told++
          }
          const counted = runs.reduce((sum, { count }) => sum + count, 0)
          if (counted !== told) throw new Error(`found ${counted} in the history, expected ${told}`)
          if (
            read.next(untilUs) !== undefined &&
            (read.next(untilUs) ?? 0) <= world.state.clock.latestUs() &&
            world.state.clock.isTrusted()
          )
            throw new Error('a time that has come is neither run nor told')
          for (const end of ends.reverse()) await end()
        },
      ),
      { numRuns: Number(process.env.TRIGGER_RUNS ?? 40) },
    )
  },
)
