import t from 'tap'
import { createTableDigests } from '../../../../src/storage/sqlite/feeds/table-digests.js'
import { createRetentionStore } from '../../../../src/storage/sqlite/retention/store.js'
import { allRecords, openDatasets, sumsOf } from '../../../support/datasets.js'
import { NO_RULE, openRetention, reading, removeAll, stepOf } from '../../../support/retention.js'
import { openTables } from '../../../support/tables.js'

const MONTH_S = 30 * 86_400
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

t.test('retention: a row that another program removes is noticed', async (t) => {
  const { tables, table, store } = openRetention()
  const digests = createTableDigests(tables.data)
  await tables.put(table, readings(0, 40, MONTH_S))
  await digests.begin(table)
  await store.set(table, { ...NO_RULE, ageDays: 1 })
  await store.remove(table, 'age', stepOf({ limit: 30 }))
  t.match(await digests.read(table, null), { isWhole: true, days: [{ sum: { rows: 40 }, removed: 30 }] })
  tables.data.writer.exec('DELETE FROM readings_tbl_0 WHERE seq = 34')
  t.match(await digests.read(table, null), { isWhole: false })
  while (!(await digests.count(table, 1000)));
  t.match(await digests.read(table, null), { isWhole: true, days: [{ sum: { rows: 39 }, removed: 30 }] })
})

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
