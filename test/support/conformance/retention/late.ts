import type { Test } from 'tap'
import type { ThinRule } from '../../../../src/storage/retention.js'
import { summaryDefinition } from '../../../../src/storage/summary-table.js'
import { NO_RULE, reading, removeAll, seqsOf } from '../../retention.js'
import { NOW_US } from '../../tables.js'
import { type OpenRetention, openRules } from './world.js'

const DAY_S = 86_400
const MIN_S = 60

function thin(to: ThinRule['to'], more: Partial<ThinRule> = {}) {
  return { ...NO_RULE, thin: { afterDays: 1, intervalS: 600, by: ['sensor'], to, ...more } }
}

/** Thinning at its edges. */
export async function conformLate(t: Test, open: OpenRetention): Promise<void> {
  await t.test('thinning: a clock that was set back, and rows of before 1970', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    const seconds = (seq: number) => 2 * DAY_S - seq * MIN_S
    await tables.put(
      table,
      [1, 2, 3, 4].map((seq) => reading(seq, seconds(seq))),
    )
    const old = (seq: number, second: number) =>
      reading(seq, null, { start_datetime: new Date(Date.UTC(1960, 0, 1, 0, 0, second)).toISOString() })
    await tables.put(table, [old(11, 1), old(12, 599), old(13, 600)])
    await store.set(table, thin({ keep: 'first' }))
    await removeAll(all, table, 'thin')
    const left = await seqsOf(tables, table)
    t.same(
      left,
      [1, 2, 3, 4, 11, 13].filter((seq) => left.includes(seq)),
    )
    t.ok(left.includes(11) && left.includes(13) && !left.includes(12), 'intervals begin before 1970, too')
    const nowUs = BigInt(NOW_US) - 30n * 86_400_000_000n
    t.same(await removeAll(all, table, 'thin', { nowUs }), { removed: 0, dropped: 0, waiting: 0 })
  })

  await t.test('thinning: rows that are not sent go where the rule says so', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    await tables.put(
      table,
      [0, 1, 2, 3].map((seq) => reading(seq, 2 * DAY_S, { sensor: 's' })),
    )
    await store.set(table, thin({ keep: 'first' }, { by: [] }))
    const sent = { until: 1, except: new Set<number>() }
    t.same(await removeAll(all, table, 'thin', { sent, dropsUnsent: true }), {
      removed: 3,
      dropped: 3,
      waiting: 0,
    })
  })

  await t.test('thinning: a series may be named by whole numbers and nulls', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    const hits = [1, 1, null, null, 2]
    await tables.put(
      table,
      hits.map((value, seq) => reading(seq, 2 * DAY_S, { hits: value })),
    )
    await store.set(table, thin({ keep: 'first' }, { by: ['hits'] }))
    await removeAll(all, table, 'thin')
    t.same(await seqsOf(tables, table), [0, 2, 4])
  })

  await t.test(
    'thinning: a summary has nulls where no row of an interval has a number, or a place',
    async (t) => {
      const all = await openRules(t, open)
      const { tables, table, store } = all
      const { columns, uniqueColumns } = summaryDefinition(table, 'sums', ['sensor'])
      const note = { ...columns[0], name: 'note', isNullable: true }
      const summary = await tables.register(
        'sums',
        [...columns.map((column) => ({ ...column })), note],
        [...uniqueColumns],
      )
      const at = 2 * DAY_S
      const nowhere = (seq: number, more: object) => ({
        ...reading(seq, at, { value: null, ...more }),
        geometry: null,
      })
      await store.set(table, thin({ into: 'sums' }))
      await tables.put(table, [nowhere(1, {})])
      await removeAll(all, table, 'thin')
      t.match(await tables.read(summary), [
        {
          geometry: null,
          properties: { row_count: 1, value_count: 0, value_min: null, value_mean: null, note: null },
        },
      ])
      await tables.put(table, [reading(2, at, { hits: 3 })])
      await removeAll(all, table, 'thin')
      await tables.put(table, [nowhere(3, { hits: 4 })])
      await removeAll(all, table, 'thin')
      t.match(await tables.read(summary), [
        {
          geometry: { type: 'Point' },
          properties: { row_count: 3, value_count: 1, value_mean: 2, hits_count: 2, hits_mean: 3.5 },
        },
      ])
    },
  )

  await t.test('thinning: rows of a series with a null are counted once', async (t) => {
    const all = await openRules(t, open)
    const { tables, table, store } = all
    const { columns, uniqueColumns } = summaryDefinition(table, 'sums', ['hits'])
    const given = columns.map((column) => ({ ...column }))
    const summary = await tables.register('sums', given, [...uniqueColumns])
    await store.set(table, thin({ into: 'sums' }, { by: ['hits'] }))
    for (const seq of [1, 2, 3]) {
      await tables.put(table, [reading(seq, 2 * DAY_S), reading(seq + 10, 2 * DAY_S, { hits: 4 })])
      await removeAll(all, table, 'thin')
    }
    const rows = (await tables.read(summary)).map(({ properties }) => [properties.hits, properties.row_count])
    const sum = (hits: unknown) =>
      rows.filter(([of]) => of === hits).reduce((all, [, count]) => all + Number(count), 0)
    t.same([sum(null), sum(4), rows.length], [3, 3, 4])
  })
}
