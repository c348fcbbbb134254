import t from 'tap'
import { findCandidatesNow } from '../../../../src/storage/sqlite/tables/candidates.js'
import { changeTimes } from '../../../../src/storage/sqlite/tables/changes.js'
import { NO_RULE, openRetention, reading, removeAll, stepOf } from '../../../support/retention.js'

const HOUR_S = 3600
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

t.test('retention: the entries of the spatial index follow, and searches find what is there', async (t) => {
  const all = openRetention()
  const { tables, table, store } = all
  for (let from = 1; from <= 12_000; from += 1000)
    await tables.put(
      table,
      range(from, from + 999).map((seq) => reading(seq, seq <= 6000 ? 30 * 24 * HOUR_S : 60)),
    )
  await store.set(table, { ...NO_RULE, ageDays: 1 })
  await removeAll(all, table, 'age', { limit: 500 })
  const entries = () =>
    tables.data.reader.prepare('SELECT sum(row_count) FROM readings_tbl_0_rtree').pluck().get()
  t.equal(entries(), 12_000)
  let steps = 0
  while (await store.cleanIndex(table)) steps++
  t.ok(steps > 1, 'in steps')
  t.equal(entries(), 6000)
  t.equal(tables.data.reader.prepare('SELECT sum(row_count) FROM loader_segment').pluck().get(), 6000)
  t.equal(findCandidatesNow(tables.data.reader, table, [138, 34, 141, 36], undefined).length, 6000)
  t.equal((await tables.read(table)).length, 6000)
  t.equal(await store.cleanIndex(table), false, 'nothing is left to do')
  for (let from = 20_001; from <= 24_000; from += 500)
    await tables.put(
      table,
      range(from, from + 499).map((seq) => reading(seq, 60)),
    )
  t.equal(findCandidatesNow(tables.data.reader, table, undefined, undefined).length, 10_000)
})

t.test('retention: a table without a rule is cleaned; tables are listed by name', async (t) => {
  const { tables, table, store } = openRetention()
  await tables.put(
    table,
    range(1, 5000).map((seq) => reading(seq, 60)),
  )
  await store.removeOldest(table, stepOf({ limit: 4500 }))
  while (await store.cleanIndex(table));
  t.equal(tables.data.reader.prepare('SELECT sum(row_count) FROM loader_segment').pluck().get(), 500)
  for (const name of ['zoo', 'ant']) {
    const made = tables.register(name, [{ name: 'k', udtName: 'int4', isNullable: false }], ['k'])
    await store.set(made, { ...NO_RULE, maxRows: 1 })
  }
  t.same(
    (await store.list()).map(({ table: { dataName } }) => dataName),
    ['ant', 'zoo'],
  )
})

t.test('retention: instants stay where many rows last around the oldest', async (t) => {
  const all = openRetention()
  const { tables, table, store } = all
  const time = (minute: number) => new Date(Date.UTC(2024, 0, 1) + minute * 60_000).toISOString()
  const row = (seq: number, from: number, until: number) =>
    reading(seq, null, { start_datetime: time(from), end_datetime: time(until) })
  await tables.put(
    table,
    range(0, 4999).map((seq) => row(seq, seq % 400, (seq % 400) + 1)),
  )
  await tables.put(
    table,
    range(10_000, 37_000).map((seq) => row(seq, 100, 600_000)),
  )
  const before = changeTimes(tables.data.reader, table)?.length
  await store.set(table, { ...NO_RULE, ageDays: 1 })
  while (
    (await removeAll(all, table, 'age', { limit: 5000, nowUs: BigInt(Date.UTC(2024, 5, 1)) * 1000n }))
      .removed > 0
  );
  await store.removeOldest(table, stepOf({ limit: 6000 }))
  while (await store.cleanIndex(table));
  t.equal((await tables.read(table)).length, 21_001)
  t.equal(changeTimes(tables.data.reader, table)?.length, before, 'a look at them would take too long')
})
