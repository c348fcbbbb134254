import type { Test } from 'tap'
import { NO_RULE, reading, removeAll, stepOf } from '../../retention.js'
import { type OpenRetention, openRules } from './world.js'

const MONTH_S = 30 * 86_400
const VAN = '22222222-2222-4222-8222-222222222222'
const readings = (from: number, to: number, ageS: number) =>
  Array.from({ length: to - from }, (_, at) => reading(from + at, ageS))
const column = (name: string) => ({
  ...{ name, udtName: 'text' as const, isNullable: true, columnDefault: null, length: null },
  ...{ srid: null, isEncrypted: false, file: null },
})

/** Sums of tables whose rows go. */
export async function conformSums(t: Test, open: OpenRetention): Promise<void> {
  await t.test(
    'retention: the sums of a table that other nodes compare have the rows that are gone',
    async (t) => {
      const all = await openRules(t, open)
      const { tables, table, store } = all
      const { digests } = tables
      await tables.put(table, readings(0, 40, MONTH_S))
      await digests.begin(table)
      while (!(await digests.count(table, 1000)));
      const before = await digests.read(table, null)
      await store.set(table, { ...NO_RULE, ageDays: 1 })
      await removeAll(all, table, 'age', { sent: { until: 30, except: new Set() } })
      const after = await digests.read(table, null)
      t.equal(after?.isWhole, true, 'no other program has written rows')
      t.same(
        after?.days.map(({ sum }) => sum),
        before?.days.map(({ sum }) => sum),
      )
      t.match(after?.days, [{ removed: 30 }])
      await tables.put(table, readings(40, 45, 60))
      t.match(await digests.read(table, null), { isWhole: true, days: [{ sum: { rows: 45 }, removed: 30 }] })
      await digests.restart(table)
      while (!(await digests.count(table, 5)));
      t.match(await digests.read(table, null), { isWhole: true, days: [{ sum: { rows: 45 }, removed: 30 }] })
      await store.removeOldest(table, stepOf({ limit: 3 }))
      t.match(await digests.removed(table), [{ origin: '', removed: 33 }])
      await tables.addColumns(table, [{ ...column('more') }])
      while (!(await digests.count(table, 1000)));
      await store.removeOldest(table, stepOf({ limit: 1 }))
      const days = (await digests.read(table, null))?.days
      t.match(
        days,
        [{ sum: { rows: 11 }, removed: 34 }],
        'digests of before a new column are not known any more',
      )
    },
  )

  await t.test('retention: rows that go before they are counted are counted as gone', async (t) => {
    const { tables, table, store } = await openRules(t, open)
    const { digests } = tables
    await tables.put(table, readings(0, 3000, MONTH_S))
    await digests.begin(table)
    t.match(await digests.read(table, null), { isWhole: false })
    await store.set(table, { ...NO_RULE, maxRows: 10 })
    await store.removeOldest(table, stepOf({ limit: 2000 }))
    while (!(await digests.count(table, 500)));
    t.match(await digests.read(table, null), {
      isWhole: true,
      days: [{ sum: { rows: 3000 }, removed: 2000 }],
    })
  })

  await t.test(
    'retention: a table that is not counted knows how many rows of each origin and day are gone',
    async (t) => {
      const all = await openRules(t, open)
      const { tables, table, store } = all
      const { digests } = tables
      await tables.put(table, readings(0, 10, MONTH_S))
      const values = ['b', 1n, 1.5, null]
      await tables.putSent(table, VAN, 20_000, [null, null, null, ...values])
      await store.set(table, { ...NO_RULE, maxRows: 1 })
      await store.removeOldest(table, stepOf({ limit: 4 }))
      t.match(await digests.removed(table), [
        { origin: '', removed: 3 },
        { origin: VAN, day: 20_000, removed: 1 },
      ])
      await digests.begin(table)
      t.match(await digests.read(table, ['']), { days: [{ sum: { rows: 7 }, removed: 3 }] })
      await store.removeOldest(table, stepOf({ limit: 2 }))
      t.match(await digests.read(table, ['']), { days: [{ sum: { rows: 5 }, removed: 5 }] })
    },
  )
}
