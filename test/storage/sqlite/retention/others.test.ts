import t from 'tap'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { createTableDigests } from '../../../../src/storage/sqlite/feeds/table-digests.js'
import { createRetentionStore } from '../../../../src/storage/sqlite/retention/store.js'
import { putSentRows } from '../../../../src/storage/sqlite/tables/sent-rows.js'
import { createAddColumns } from '../../../../src/storage/sqlite/versions/table-columns.js'
import { allRecords, openDatasets, sumsOf } from '../../../support/datasets.js'
import { NO_RULE, openRetention, reading, removeAll, stepOf } from '../../../support/retention.js'
import { openTables } from '../../../support/tables.js'

const MONTH_S = 30 * 86_400
const VAN = '22222222-2222-4222-8222-222222222222'
const readings = (from: number, to: number, ageS: number) =>
  Array.from({ length: to - from }, (_, at) => reading(from + at, ageS))

t.test('retention: what a citation sees stays readable through it, and is found by its place', async (t) => {
  const file = `${t.testdir()}/data.db`
  const tables = openTables(file)
  const opened = openDatasets(file)
  t.teardown(() => opened.close())
  const table = tables.register(
    'readings',
    [
      { name: 'sensor', udtName: 'text', isNullable: false },
      { name: 'seq', udtName: 'int4', isNullable: false },
      { name: 'value', udtName: 'float8' },
      { name: 'hits', udtName: 'int8' },
    ],
    ['sensor', 'seq'],
  )
  await tables.put(table, readings(0, 6000, MONTH_S))
  const { longForm } = await opened.store.cite('before', 'readings')
  const before = { rows: await allRecords(opened.store, longForm), sums: await sumsOf(opened, longForm) }
  await tables.put(table, readings(6000, 12_000, MONTH_S))
  const store = createRetentionStore(tables.data, async () => 0)
  await store.set(table, { ...NO_RULE, ageDays: 1 })
  await removeAll({ store }, table, 'age', { limit: 1000 })
  while (await store.cleanIndex(table));
  t.equal((await tables.read(table)).length, 0)
  t.same(await allRecords(opened.store, longForm), before.rows)
  t.same((await sumsOf(opened, longForm)).checksum, before.sums.checksum)
  const place = {
    type: 'Polygon',
    coordinates: [
      [
        [138.995, 34],
        [139.005, 34],
        [139.005, 36],
        [138.995, 34],
      ],
    ],
  }
  const conds = { intersects: ['location', place] }
  t.equal(
    (await allRecords(opened.store, longForm, { conds })).length,
    60,
    'of the first hundredth of a degree',
  )
  const count = (name: string) => tables.data.reader.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()
  t.equal(count('readings_tbl_0_1_gone'), 6000)
  t.equal(count('readings_tbl_0_1_since'), 0, 'nothing is kept of the last changes of rows that are gone')
  const entries = tables.data.reader.prepare('SELECT sum(row_count) FROM readings_tbl_0_rtree').pluck().get()
  t.equal(entries, 6000, 'entries stay of rows that the citation sees, and of no others')
})

t.test('retention: the sums of a table that other nodes compare have the rows that are gone', async (t) => {
  const all = openRetention()
  const { tables, table, store } = all
  const digests = createTableDigests(tables.data)
  await tables.put(table, readings(0, 40, MONTH_S))
  await transaction(tables.data.writer, () => undefined)
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
  tables.data.writer.exec('DELETE FROM readings_tbl_0 WHERE seq = 44')
  t.match(
    await digests.read(table, null),
    { isWhole: false },
    'a row that another program removes is noticed',
  )
  while (!(await digests.count(table, 1000)));
  await store.removeOldest(table, stepOf({ limit: 3 }))
  t.match(await digests.removed(table), [{ origin: '', removed: 33 }])
  await createAddColumns(tables.data)(table, [{ ...column('more') }])
  while (!(await digests.count(table, 1000)));
  await store.removeOldest(table, stepOf({ limit: 1 }))
  const days = (await digests.read(table, null))?.days
  t.match(days, [{ sum: { rows: 10 }, removed: 34 }], 'digests of before a new column are not known any more')
})

t.test('retention: rows that go before they are counted are counted as gone', async (t) => {
  const { tables, table, store } = openRetention()
  const digests = createTableDigests(tables.data)
  await tables.put(table, readings(0, 3000, MONTH_S))
  await digests.begin(table)
  t.match(await digests.read(table, null), { isWhole: false })
  await store.set(table, { ...NO_RULE, maxRows: 10 })
  await store.removeOldest(table, stepOf({ limit: 2000 }))
  while (!(await digests.count(table, 500)));
  t.match(await digests.read(table, null), { isWhole: true, days: [{ sum: { rows: 3000 }, removed: 2000 }] })
})

t.test(
  'retention: a table that is not counted knows how many rows of each origin and day are gone',
  async (t) => {
    const all = openRetention()
    const { tables, table, store } = all
    const digests = createTableDigests(tables.data)
    await tables.put(table, readings(0, 10, MONTH_S))
    const values = ['b', 1n, 1.5, null]
    const sent = { day: 20_000, version: 1, values: [null, null, null, ...values] }
    await tables.data.writer.exec('BEGIN')
    await putSentRows(
      tables.data.writer,
      table,
      { origin: VAN, sender: VAN, rows: [sent] },
      async () => undefined,
    )
    await tables.data.writer.exec('COMMIT')
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

t.test('retention: a file gives back what it does not need', async (t) => {
  const { tables, table, store } = openRetention(`${t.testdir()}/data.db`)
  for (let from = 0; from < 8000; from += 2000) await tables.put(table, readings(from, from + 2000, MONTH_S))
  await store.set(table, { ...NO_RULE, ageDays: 1 })
  const before = await store.space()
  await removeAll({ store }, table, 'age', { limit: 2000 })
  t.ok((await store.space()).freePages > before.pages / 2)
  let freed = 0
  for (let pages = await store.shrink(10); pages > 0; pages = await store.shrink(10)) freed += pages
  const after = await store.space()
  t.equal(after.pages, before.pages - freed)
  t.equal(after.freePages, 10)
  t.equal(await store.shrink(10), 0)
  tables.data.writer.pragma('auto_vacuum = NONE')
  tables.data.writer.exec('VACUUM')
  await tables.put(table, readings(0, 2000, MONTH_S))
  await removeAll({ store }, table, 'age', { limit: 2000 })
  t.equal(await store.shrink(0), 0, 'a file of an earlier version keeps its size')
})

const column = (name: string) => ({
  ...{ name, udtName: 'text' as const, isNullable: true, columnDefault: null, length: null },
  ...{ srid: null, isEncrypted: false, file: null },
})
