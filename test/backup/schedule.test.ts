import t from 'tap'
import type { BackupResult } from '../../src/backup/make-backup.js'
import { type BackupRecord, noSchedule, type ScheduleDeps, startSchedule } from '../../src/backup/schedule.js'

const RESULT: BackupResult = {
  name: '00000001',
  dir: '/b',
  nodeId: 'n',
  writtenBytes: 10,
  totalBytes: 30,
  blobs: 2,
  blobsKnown: 1,
  lost: [],
  damagedCitations: [],
  removed: [],
  retentionFault: null,
}
const HOUR = 3_600_000

/** A schedule whose clock stands where the test puts it. */
function rig(change: Partial<ScheduleDeps> = {}) {
  const state = { nowMs: 0, made: 0, records: [] as BackupRecord[], lines: [] as string[], fault: '' }
  const deps: ScheduleDeps = {
    dir: '/b',
    everyMs: 24 * HOUR,
    firstWaitMs: 1000,
    ageMs: null,
    last: async () => null,
    nowUs: () => 1_800_000_000_000_000 + state.nowMs * 1000,
    nowMs: () => state.nowMs,
    async make() {
      state.made++
      if (state.fault !== '') throw new Error(state.fault)
      return RESULT
    },
    async record(record) {
      state.records.push(record)
    },
    log: {
      info: (_fields, message) => void state.lines.push(message),
      error: (_fields, message) => void state.lines.push(message),
    },
    ...change,
  }
  const schedule = startSchedule(deps, 1)
  const at = async (ms: number, made: number) => {
    state.nowMs = ms
    const before = performance.now()
    while (state.records.length < made && performance.now() - before < 20_000)
      await new Promise((resolve) => setTimeout(resolve, 2))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return { schedule, state, at }
}

t.test(
  'schedule: first backup after the start, then at the interval, one hour after a failure',
  async (t) => {
    const { schedule, state, at } = rig()
    t.teardown(() => schedule.stop())
    await at(999, 0)
    t.equal(state.made, 0)
    await at(1000, 1)
    t.equal(state.made, 1)
    t.match(await schedule.status(), {
      isScheduled: true,
      isRunning: false,
      lastError: null,
      lastTotalBytes: 30,
    })
    state.fault = 'the disk is full'
    await at(1000 + 24 * HOUR, 2)
    t.match(await schedule.status(), {
      lastError: 'the disk is full',
      lastSuccessUs: state.records[0]?.successUs,
    })
    state.fault = ''
    await at(1000 + 25 * HOUR - 1, 2)
    t.equal(state.made, 2)
    await at(1000 + 25 * HOUR, 3)
    t.equal((await schedule.status()).lastError, null)
    t.same(state.lines, ['backup made', 'backup failed', 'backup made'])
  },
)

t.test('schedule: a restart keeps the due time; an overdue backup is made after the start', async (t) => {
  const young = rig({ ageMs: 23 * HOUR })
  t.teardown(() => young.schedule.stop())
  await young.at(HOUR - 1, 0)
  t.equal(young.state.made, 0)
  await young.at(HOUR, 1)
  t.equal(young.state.made, 1)
  const old = rig({ ageMs: 300 * HOUR })
  t.teardown(() => old.schedule.stop())
  await old.at(1000, 1)
  t.equal(old.state.made, 1)
})

t.test('schedule: stop cancels a running backup, which is not recorded as a failure', async (t) => {
  const { schedule, state } = rig({
    firstWaitMs: 0,
    make: (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled')))),
  })
  while (!(await schedule.status()).isRunning) await new Promise((resolve) => setTimeout(resolve, 2))
  await schedule.stop()
  t.same(state.records, [])
  t.match(await noSchedule(async () => null).status(), { isScheduled: false, lastSuccessUs: null })
})

t.test(
  'schedule: a record that cannot be read ends the attempt, not the gateway; a later one succeeds',
  async (t) => {
    let reads = 0
    const { state, schedule, at } = rig({
      last: async () => {
        reads++
        if (reads === 1) throw new Error('i/o error')
        return null
      },
    })
    state.nowMs = 2000
    while (state.lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 2))
    t.match(state.lines, [/cannot be read or written/])
    await at(2000 + HOUR, 1)
    t.equal(state.made, 1)
    await schedule.stop()
  },
)
