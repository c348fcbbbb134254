import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { createFence } from '../../../../src/storage/postgres/leases/fence.js'
import { createLeases } from '../../../../src/storage/postgres/leases/lease.js'
import { createRetentionStore } from '../../../../src/storage/postgres/retention/store.js'
import type { LoaderTable } from '../../../../src/storage/tables.js'
import { openRules } from '../../../support/conformance/retention/world.js'
import { noPostgres } from '../../../support/postgres.js'
import { type PostgresRetention, postgresRetention } from '../../../support/postgres-retention.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { NO_RULE, reading, removeAll, seqsOf, stepOf } from '../../../support/retention.js'

const MONTH_S = 30 * 86_400
const readings = (from: number, to: number, ageS: number) =>
  Array.from({ length: to - from }, (_, at) => reading(from + at, ageS))
const skip = noPostgres()

/** Counts the rows of a table and compares its numbers and the sums of its days with them. */
async function requireWhole(t: Test, tables: PostgresRetention, table: LoaderTable, expected: number) {
  const { db, digests, rules } = tables
  const sql = `SELECT count(*) AS n FROM rows_${table.tableId}`
  t.same(await db.read.get(sql), { n: expected })
  t.equal((await rules.find(table))?.rows, expected)
  const days = (await digests.read(table, null))?.days ?? []
  const sum = (of: (day: (typeof days)[number]) => number) => days.reduce((all, day) => all + of(day), 0)
  t.equal(sum((day) => day.sum.rows) - sum((day) => day.removed), expected)
  const before = days.map(({ day, sum }) => [day, [...sum.limbs]])
  await digests.restart(table)
  while (!(await digests.count(table, 1000)));
  const again = (await digests.read(table, null))?.days ?? []
  t.same(
    again.map(({ day, sum }) => [day, [...sum.limbs]]),
    before,
    'sums that are made anew are those that were kept',
  )
}

t.test('retention: two processes remove, and one writes, at once', { skip }, async (t) => {
  const open = await postgresRetention(t)
  const tables = await open(t)
  const { table } = await openRules(t, async () => tables)
  await tables.digests.begin(table)
  for (let from = 0; from < 3000; from += 500) await tables.put(table, readings(from, from + 500, MONTH_S))
  await tables.rules.set(table, { ...NO_RULE, ageDays: 1 })
  const other = tables.another()
  const write = async () => {
    for (let from = 10_000; from < 10_300; from += 20) await tables.put(table, readings(from, from + 20, 60))
    await other.put(table, readings(20_000, 20_100, MONTH_S))
  }
  const [one, two] = await Promise.all([
    removeAll({ store: tables.rules }, table, 'age', { limit: 70 }),
    removeAll({ store: other.rules }, table, 'age', { limit: 50 }),
    write(),
  ])
  const late = await removeAll({ store: tables.rules }, table, 'age')
  t.equal(one.removed + two.removed + late.removed, 3100, 'each row goes once')
  t.match(await tables.rules.find(table), { removed: 3100 })
  await requireWhole(t, tables, table, 300)
  t.same((await seqsOf(tables, table)).length, 300)
})

t.test('retention: a step whose commit was not answered is not done twice', { skip }, async (t) => {
  const open = await postgresRetention(t, (commits) => commits % 3 === 0)
  const tables = await open(t)
  const { table } = await openRules(t, async () => tables)
  await tables.digests.begin(table)
  await tables.put(table, readings(0, 200, MONTH_S))
  await tables.rules.set(table, { ...NO_RULE, maxRows: 100 })
  let removed = 0
  for (let step = 0; step < 10; step++)
    removed += (await tables.rules.removeOldest(table, stepOf({ limit: 10 })))?.removed ?? 0
  t.equal(removed, 100)
  t.match(await tables.rules.find(table), { removed: 100 })
  await tables.rules.set(table, {
    ...NO_RULE,
    thin: { afterDays: 1, intervalS: 3600, by: [], to: { keep: 'last' } },
  })
  await removeAll({ store: tables.rules }, table, 'thin', { limit: 9 })
  t.same(await seqsOf(tables, table), [199])
  await requireWhole(t, tables, table, 1)
})

t.test(
  'retention: a large table is prepared beside its writers, and nothing goes before',
  { skip },
  async (t) => {
    const open = await postgresRetention(t)
    const tables = await open(t)
    const { table } = await openRules(t, async () => tables)
    const { db } = tables
    await tables.put(table, readings(0, 300, MONTH_S))
    // as a table that another version has made, or a move brought, with ids that no row has
    const numbers = 'UPDATE loader_state SET last_row = 200000, last_change = 200000, gone = NULL'
    await db.write((rows) => rows.run(numbers))
    await tables.rules.set(table, { ...NO_RULE, ageDays: 1, maxRows: 10 })
    t.match(await tables.rules.find(table), { oldestUs: null })
    t.match(await tables.rules.remove(table, 'age', stepOf()), { removed: 0, next: null })
    t.match(await tables.rules.removeOldest(table, stepOf()), { removed: 0, next: null })
    const index = async () =>
      await db.read.all(`SELECT relname FROM pg_class WHERE relname = 'rows_${table.tableId}_age'`)
    t.same(await index(), [])
    await tables.prepare()
    t.match(await tables.rules.find(table), { rows: 300 })
    t.not((await tables.rules.find(table))?.oldestUs, null)
    // a building that was cut off leaves an index that is not used
    await db.alone(`DROP INDEX rows_${table.tableId}_age`, 10_000)
    await tables.put(table, [reading(1000, 60), reading(1001, 60)])
    const wrong = `CREATE UNIQUE INDEX CONCURRENTLY rows_${table.tableId}_age ON rows_${table.tableId} (origin)`
    await t.rejects(db.alone(wrong, 10_000))
    t.match(await tables.rules.remove(table, 'age', stepOf()), { removed: 0 })
    await tables.prepare()
    t.match(await removeAll({ store: tables.rules }, table, 'age'), { removed: 300 })
    t.same(await seqsOf(tables, table), [1000, 1001])
    await tables.rules.set(table, null)
    await tables.prepare()
    t.same(await index(), [], 'a table without a rule needs no index of ages')
    await tables.prepare()
  },
)

t.test('retention: a process that has lost the task removes nothing', { skip }, async (t) => {
  const open = await postgresRetention(t)
  const tables = await open(t)
  const { table } = await openRules(t, async () => tables)
  await tables.put(table, readings(0, 20, MONTH_S))
  await tables.rules.set(table, { ...NO_RULE, ageDays: 1 })
  const fence = createFence(tables.db)
  const rules = createRetentionStore({ ...tables.context, db: fence.db }, async () => 0)
  const term = await createLeases(fence, { holder: randomUUID(), lastsMs: 600_000 }).begin('old rows')
  if (term === undefined) throw new Error('another process has the task')
  await term.run(async () => t.match(await rules.remove(table, 'age', stepOf()), { removed: 7 }))
  await term.end()
  const late = term.run(() => rules.remove(table, 'age', stepOf()))
  await rejectsWith(t, late, 'BUSY', { message: /Another process has this task now/ })
  t.equal((await seqsOf(tables, table)).length, 13)
})

t.test('retention: a table that was dropped', { skip }, async (t) => {
  const open = await postgresRetention(t)
  const tables = await open(t)
  const { table } = await openRules(t, async () => tables)
  await tables.rules.set(table, { ...NO_RULE, ageDays: 1 })
  await tables.store.drop(table)
  t.equal(await tables.rules.remove(table, 'age', stepOf()), undefined)
  t.equal(await tables.rules.removeOldest(table, stepOf()), undefined)
  t.equal(await tables.rules.cleanIndex(table), false)
  t.same(await tables.rules.list(), [])
  await rejectsWith(t, tables.rules.set(table, null), 'UNKNOWN_TABLE')
  await tables.prepare()
})
