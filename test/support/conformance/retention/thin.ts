import type { Test } from 'tap'
import type { ThinRule } from '../../../../src/storage/retention.js'
import { summaryDefinition } from '../../../../src/storage/summary-table.js'
import { rejectsWith } from '../../rejects-with.js'
import { NO_RULE, reading, removeAll, seqsOf, stepOf } from '../../retention.js'
import { type OpenRetention, openRules } from './world.js'

const HOUR_S = 3600
const MIN_S = 60
/** of the hour before 2025-01-02T03:00Z */
const BASE_S = 3 * HOUR_S + 4 * MIN_S + 5

const NEW_COLUMN = {
  ...{ name: 'more', udtName: 'int4' as const, isNullable: true, columnDefault: null, length: null },
  ...{ srid: null, isEncrypted: false, file: null },
}

function thin(to: ThinRule['to'], more: Partial<ThinRule> = {}) {
  return { ...NO_RULE, thin: { afterDays: 1 / 24, intervalS: 600, by: ['sensor'], to, ...more } }
}

/** Readings each minute from 00:00 on, of two sensors. */
const minutes = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => from + at).flatMap((minute) =>
    ['a', 'b'].map((sensor) => reading(minute, BASE_S - minute * MIN_S, { sensor, hits: minute })),
  )

/** Rules of thinning. */
export async function conformThinning(t: Test, open: OpenRetention): Promise<void> {
  await t.test('thinning: one row of each series and interval stays', async (t) => {
    for (const keep of ['first', 'last'] as const) {
      const all = await openRules(t, open)
      const { tables, table, store } = all
      await tables.put(table, minutes(0, 180))
      await store.set(table, thin({ keep }))
      await removeAll(all, table, 'thin')
      const seqs = await seqsOf(tables, table)
      const old = Array.from({ length: 12 }, (_, at) => at * 10 + (keep === 'first' ? 0 : 9))
      t.same(
        seqs.filter((seq) => (seq as number) < 120),
        old.flatMap((seq) => [seq, seq]),
        `${keep}: an interval is thinned when it is old as a whole`,
      )
      t.equal(seqs.length, 24 + 120)
      t.match(await store.find(table), { removed: 216, thinned: 216, rows: 144 })
      t.same(await removeAll(all, table, 'thin'), { removed: 0, dropped: 0, waiting: 0 })
    }
  })

  await t.test('thinning: rows that come later, are changed or sent later are thinned, too', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    await tables.put(table, minutes(0, 60))
    await store.set(table, thin({ keep: 'first' }))
    const sent = { until: 60, except: new Set<number>() }
    await removeAll(all, table, 'thin', { sent })
    t.equal((await seqsOf(tables, table)).length, 6 + 60, 'half of them is not sent')
    await removeAll(all, table, 'thin')
    t.equal((await seqsOf(tables, table)).length, 12)
    await tables.put(table, [
      reading(1000, BASE_S + MIN_S / 2 - 1 * MIN_S),
      reading(1001, BASE_S - 45 * MIN_S, { sensor: 'c' }),
      reading(0, BASE_S - 31 * MIN_S),
    ])
    await tables.put(table, [reading(0, BASE_S - 31 * MIN_S)], 'override')
    await removeAll(all, table, 'thin')
    const left = (await tables.read(table)).map(({ properties: { sensor, seq } }) => `${sensor}${seq}`)
    t.same(
      left.sort(),
      ['a10', 'a1000', 'a20', 'a30', 'a40', 'a50', 'b0', 'b10', 'b20', 'b30', 'b40', 'b50', 'c1001'],
      'the reading of minute 31 went, that of half past zero takes the place of the one that moved',
    )
  })

  await t.test('thinning: a start anew in the middle of an interval changes nothing', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    await tables.put(table, minutes(0, 60))
    await store.set(table, thin({ keep: 'last' }))
    for (let begun = 0; begun < 30; begun++) await store.remove(table, 'thin', stepOf({ limit: 7 }))
    await removeAll(all, table, 'thin')
    t.same(await seqsOf(tables, table), [9, 9, 19, 19, 29, 29, 39, 39, 49, 49, 59, 59])
  })

  await t.test(
    'thinning: rows move into a summary, each in one interval, also when they come later',
    async (t) => {
      const all = await openRules(t, open)
      const { tables, table, store } = all
      const definition = summaryDefinition(table, 'readings_10min', ['sensor'])
      const summary = await tables.register(
        'readings_10min',
        definition.columns.map((column) => ({ ...column })),
        [...definition.uniqueColumns],
      )
      await tables.put(table, minutes(0, 25))
      await tables.put(table, [reading(99, BASE_S - 3 * MIN_S)], 'skip', {
        origin: '33333333-3333-4333-8333-333333333333',
      })
      await store.set(table, thin({ into: 'readings_10min' }))
      await removeAll(all, table, 'thin')
      t.same(await seqsOf(tables, table), [99], 'rows of other nodes stay')
      await tables.put(table, [reading(1, BASE_S - 1 * MIN_S, { value: 100, hits: null })])
      await removeAll(all, table, 'thin')
      const rows = await tables.read(summary)
      t.equal(rows.length, 6)
      const first = rows.find(({ properties: p }) => p.sensor === 'a' && Number(p.row_count) === 11)
      t.match(first?.properties, {
        ...{ start_datetime: '2025-01-02T09:00:00+09:00', end_datetime: '2025-01-02T09:10:00+09:00' },
        ...{ value_min: 0, value_max: 100, value_mean: 145 / 11, hits_count: 10, hits_mean: 4.5 },
      })
      t.match(first?.geometry, { type: 'Point' })
      const altered = await tables.addColumns(table, [{ ...NEW_COLUMN }])
      await tables.put(altered, [reading(3, BASE_S - 1 * MIN_S, { value: 7, more: 5 })], 'override')
      await removeAll(all, table, 'thin')
      t.same(await seqsOf(tables, table), [99], 'a column that the summary has not is left out of it')
      await tables.store.drop(summary)
      await tables.put(table, [reading(7, BASE_S)])
      await rejectsWith(t, removeAll(all, table, 'thin'), 'UNKNOWN_TABLE', { message: /readings_10min/ })
      t.same(await seqsOf(tables, table), [99, 7], 'nothing went')
    },
  )

  await t.test('thinning: another rule begins anew', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    await tables.put(table, minutes(0, 60))
    await store.set(table, thin({ keep: 'first' }))
    await removeAll(all, table, 'thin')
    await store.set(table, thin({ keep: 'first' }, { intervalS: 1800, by: [] }))
    await removeAll(all, table, 'thin')
    t.same(await seqsOf(tables, table), [0, 30])
    await store.set(table, { ...NO_RULE, ageDays: 1 })
    t.same(await removeAll(all, table, 'thin'), { removed: 0, dropped: 0, waiting: 0 })
  })
}
