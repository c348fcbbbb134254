import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import t from 'tap'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { createClock, WRITTEN_AT_US } from '../../../../src/storage/work/clock.js'
import { conformAudit, conformMeta, conformNodeKeys } from '../../../support/conformance/identity.js'
import { memoryState, START_MS } from '../../../support/memory-state.js'

const HOUR_MS = 3_600_000

t.test('meta: the node id outlives a restart', async (t) => {
  const file = `${t.testdir()}/state.db`
  const first = await openState(file)
  t.equal(await first.meta.nodeId(), undefined)
  const nodeId = randomUUID()
  t.equal(await first.meta.claimNodeId(nodeId), nodeId)
  t.equal(await first.meta.claimNodeId(randomUUID()), nodeId)
  await first.close()
  const second = await openState(file)
  t.equal(await second.meta.nodeId(), nodeId)
  await second.close()
})

t.test('identity on SQLite in memory', async (t) => {
  await conformMeta(t, memoryState)
  await conformAudit(t, memoryState)
  await conformNodeKeys(t, memoryState)
})

t.test('state: the file is readable by its user alone, beside its log too', async (t) => {
  const file = `${t.testdir()}/state.db`
  const state = await openState(file)
  await state.meta.claimNodeId(randomUUID())
  for (const suffix of ['', '-wal', '-shm'])
    t.equal(statSync(file + suffix).mode & 0o777, 0o600, `state.db${suffix}`)
  await state.close()
})

t.test('state: two connections take turns, as a command line beside a running gateway', async (t) => {
  const file = `${t.testdir()}/state.db`
  const [a, b] = [await openState(file), await openState(file)]
  const nodeIds = await Promise.all([a, b, a, b].map(({ meta }) => meta.claimNodeId(randomUUID())))
  t.equal(new Set(nodeIds).size, 1)
  await Promise.all([a.close(), b.close()])
})

t.test('state: a gateway records the time, at most every ten minutes and at its end', async (t) => {
  const file = `${t.testdir()}/state.db`
  let wallMs = START_MS
  const state = await openState(file, { wallMs: () => wallMs })
  await state.housekeep()
  const first = await state.meta.lastSeenUs()
  t.ok(first >= START_MS * 1000)
  wallMs += HOUR_MS / 12
  await state.housekeep()
  t.equal(await state.meta.lastSeenUs(), first, 'five minutes later')
  wallMs += HOUR_MS / 12
  await state.housekeep()
  t.ok((await state.meta.lastSeenUs()) >= first + 600_000_000, 'ten minutes later')
  wallMs += 1000
  await state.close()
  const next = await openState(file, { wallMs: () => wallMs })
  t.ok((await next.meta.lastSeenUs()) >= wallMs * 1000, 'at the end')
  await next.close()
})

t.test('state: a wall clock before the recorded time is noticed after a restart', async (t) => {
  const file = `${t.testdir()}/state.db`
  let wallMs = START_MS
  const before = await openState(file, { wallMs: () => wallMs })
  await before.housekeep()
  await before.close()
  wallMs -= HOUR_MS
  const after = await openState(file, { wallMs: () => wallMs })
  t.equal(after.clock.isTrusted(), false)
  wallMs += 2 * HOUR_MS
  t.equal(after.clock.isTrusted(), true, 'set right')
  await after.close()
})

t.test('clock: readings within a millisecond differ, and follow the wall clock', async (t) => {
  let wallMs = START_MS
  const clock = createClock(0, () => wallMs)
  const readings = Array.from({ length: 999 }, () => clock.nowUs())
  t.equal(new Set(readings).size, 999)
  t.ok(Math.max(...readings) < (START_MS + 1) * 1000, 'none runs ahead of the millisecond')
  wallMs += 1
  t.equal(clock.nowUs(), wallMs * 1000)
  wallMs -= 10
  t.equal(clock.nowUs(), wallMs * 1000, 'also back')
})

t.test('clock: it is believed within the corrections of a network clock, and not beyond', async (t) => {
  let wallMs = START_MS
  const clock = createClock(START_MS * 1000, () => wallMs)
  t.ok(clock.isTrusted())
  wallMs -= 4000
  t.ok(clock.isTrusted())
  wallMs -= 2000
  t.notOk(clock.isTrusted())
  t.equal(clock.latestUs(), START_MS * 1000)
  t.notOk(clock.hasPassed(0), 'nothing has passed then')
})

t.test('clock: a time before this program was written is not believed', async (t) => {
  for (const ms of [0, WRITTEN_AT_US / 1000 - 6000]) {
    const clock = createClock(0, () => ms)
    t.notOk(clock.isTrusted(), String(ms))
    t.equal(clock.latestUs(), WRITTEN_AT_US)
  }
  t.ok(createClock(0, () => WRITTEN_AT_US / 1000).isTrusted())
})

t.test('clock: null never passes', async (t) => {
  t.equal(createClock(0).hasPassed(null), false)
  t.equal(createClock(0).hasPassed(1), true)
})
