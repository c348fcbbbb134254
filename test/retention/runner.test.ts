import t from 'tap'
import { type RetentionDeps, startRetention } from '../../src/retention/runner.js'
import type { SentState } from '../../src/retention/sent-rows.js'
import { NO_RULE, openRetention, reading, seqsOf } from '../support/retention.js'
import { NOW_US } from '../support/tables.js'

const MONTH_S = 30 * 86_400
const ALL: SentState = { until: Number.POSITIVE_INFINITY, except: new Set(), slowest: null }

/** A runner whose rounds the test begins. */
function startRunner(t: { teardown(work: () => unknown): unknown }, given: Partial<RetentionDeps> = {}) {
  const all = openRetention()
  const state = {
    sent: ALL,
    isTrusted: true,
    diskBytes: 0,
    mark: { minFreeBytes: 0, giveFirst: [] as string[] },
  }
  const lines: string[] = []
  const log = (fields: unknown, text?: string) => void lines.push(`${text ?? ''} ${JSON.stringify(fields)}`)
  let rest: (() => void) | undefined
  const deps: RetentionDeps = {
    ...{ store: all.store, clock: { nowUs: () => NOW_US, isTrusted: () => state.isTrusted } },
    sentRows: async () => state.sent,
    findTable: async (name) => (name === 'readings' ? all.table : undefined),
    async diskFree() {
      const { pages, pageBytes } = await all.store.space()
      return state.diskBytes - pages * pageBytes
    },
    sweepFiles: async () => undefined,
    sampleDisk: async () => undefined,
    mark: () => state.mark,
    pause: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
        if (ms < 10_000) setImmediate(resolve)
        else rest?.()
      }),
    log: { info: log, warn: log, error: log } as never,
    ...given,
  }
  const rested = () =>
    new Promise<void>((resolve) => {
      rest = resolve
    })
  const first = rested()
  const runner = startRetention(deps)
  t.teardown(() => runner.stop())
  const round = async () => {
    const done = rested()
    runner.wake()
    await done
  }
  return { ...all, state, runner, lines, first, round }
}

const readings = (from: number, to: number, ageS: number) =>
  Array.from({ length: to - from }, (_, at) => reading(from + at, ageS))

t.test('runner: rules hold after a round, and what waits is told with its feed', async (t) => {
  const { tables, table, store, state, runner, first, round } = startRunner(t)
  await first
  await tables.put(table, readings(0, 700, MONTH_S))
  await tables.put(table, readings(700, 710, 60))
  await store.set(table, { ...NO_RULE, ageDays: 1 })
  state.sent = { until: 600, except: new Set([5]), slowest: { feed: 'f', to: 'hub' } }
  await round()
  t.equal((await seqsOf(tables, table)).length, 111)
  t.same(runner.stateOf(table.tableId), {
    ...{ removed: 599, waiting: 101, slowest: { feed: 'f', to: 'hub' }, fault: null },
  })
  state.sent = ALL
  await round()
  t.equal((await seqsOf(tables, table)).length, 10)
  t.equal(runner.removedRows(), 700)
  await store.set(table, { ...NO_RULE, maxRows: 4 })
  await round()
  t.same(await seqsOf(tables, table), [706, 707, 708, 709])
  await store.set(table, null)
  await round()
  t.equal(runner.stateOf(table.tableId), undefined)
})

t.test('runner: a clock that may be wrong lets no row expire, but sizes hold', async (t) => {
  const { tables, table, store, state, first, round } = startRunner(t)
  await first
  await tables.put(table, readings(0, 20, MONTH_S))
  await store.set(table, {
    ...NO_RULE,
    ageDays: 2,
    thin: { afterDays: 1, intervalS: 3600, by: [], to: { keep: 'first' } },
  })
  state.isTrusted = false
  await round()
  t.equal((await seqsOf(tables, table)).length, 20)
  await store.set(table, { ...NO_RULE, ageDays: 1, maxRows: 15 })
  await round()
  t.equal((await seqsOf(tables, table)).length, 15)
})

t.test('runner: bytes hold as they are estimated', async (t) => {
  const { tables, table, store, first, round } = startRunner(t)
  await first
  await tables.put(table, readings(0, 1000, 60))
  await store.set(table, { ...NO_RULE, maxBytes: 100_000 })
  const { rowBytes = 0 } = (await store.find(table)) ?? {}
  await round()
  const left = (await seqsOf(tables, table)).length
  t.equal(left, Math.floor(100_000 / rowBytes))
})

t.test('runner: tables give rows while the disk is below its mark, in their order', async (t) => {
  const { tables, table, store, state, runner, lines, first, round } = startRunner(t)
  await first
  await tables.put(table, readings(0, 3000, 60))
  const { pages, pageBytes } = await store.space()
  state.diskBytes = pages * pageBytes
  state.mark = { minFreeBytes: 100_000, giveFirst: ['nobody', 'readings'] }
  await round()
  const left = (await seqsOf(tables, table)).length
  t.ok(left > 0 && left < 3000, `${left} rows are left`)
  t.equal(runner.isShort(), false)
  state.mark = { minFreeBytes: 90_000_000, giveFirst: ['readings'] }
  state.sent = { until: 2990, except: new Set(), slowest: { feed: 'f', to: 'hub' } }
  await round()
  t.equal((await seqsOf(tables, table)).length, 10, 'rows that are not sent stay')
  t.equal(runner.isShort(), true)
  await round()
  t.equal(lines.filter((line) => line.includes('below retention.minFreeBytes')).length, 1, 'it is told once')
})

t.test('runner: the fault of one table is told once, and the others have their pass', async (t) => {
  const { tables, table, store, runner, lines, first, round } = startRunner(t)
  await first
  const other = tables.register('other', [{ name: 'k', udtName: 'int4', isNullable: false }], ['k'])
  await tables.put(table, readings(0, 20, MONTH_S))
  await tables.put(
    other,
    [1, 2, 3].map((k) => ({ type: 'Feature', geometry: null, properties: { k } })),
  )
  await store.set(table, {
    ...NO_RULE,
    thin: { afterDays: 1, intervalS: 3600, by: [], to: { into: 'nobody' } },
  })
  await store.set(other, { ...NO_RULE, maxRows: 1 })
  await round()
  await round()
  t.match(runner.stateOf(table.tableId)?.fault, /No table has the name nobody/)
  t.equal((await tables.read(other)).length, 1)
  t.equal(lines.filter((line) => line.includes('old rows stay')).length, 1)
})

t.test('runner: what a database says of a fault is told in the log alone', async (t) => {
  const all = openRetention()
  const { table, store, runner, lines, first, round } = startRunner(t, {
    store: { ...all.store, remove: async () => Promise.reject(new Error('no such column: x')) },
    findTable: async () => all.table,
  })
  await first
  await all.store.set(all.table, { ...NO_RULE, ageDays: 1 })
  await round()
  t.equal(runner.stateOf(all.table.tableId)?.fault, 'an internal fault; the log has the reason')
  t.equal(lines.filter((line) => line.includes('old rows stay')).length, 1)
  t.equal(await store.find(table), undefined, 'the other database has no rule')
})

t.test('runner: a database that fails is told once, and tried again', async (t) => {
  const all = openRetention()
  let isBroken = true
  const { runner, lines, first, round } = startRunner(t, {
    store: {
      ...all.store,
      rules: async () => {
        if (isBroken) throw new Error('disk I/O error')
        return []
      },
    },
  })
  await first
  await round()
  isBroken = false
  await round()
  t.equal(lines.filter((line) => line.includes('could not be removed')).length, 1)
  await runner.stop()
})
