import path from 'node:path'
import t from 'tap'
import { utcDayOf } from '../../../../src/datetime.js'
import { openDataDb } from '../../../../src/storage/sqlite/connection/data-db.js'
import { DATA_MIGRATIONS } from '../../../../src/storage/sqlite/connection/data-migrations.js'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { createTableDigests } from '../../../../src/storage/sqlite/feeds/table-digests.js'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { NOW_US, openTables } from '../../../support/tables.js'

/** Schema version of 0.1.0. */
const OLD = 3

const COLUMN = `{"name": "k", "udtName": "int4", "isNullable": true, "columnDefault": null, "length": null,
  "srid": null, "isEncrypted": false, "file": null}`

/** What `register_loader` of 0.1.0 made. */
const OLD_TABLE = `
  CREATE TABLE "x_tbl_0" (
    "start_datetime" INTEGER, "end_datetime" INTEGER, "location" BLOB, "k" INTEGER,
    "row id" INTEGER PRIMARY KEY) STRICT;
  CREATE UNIQUE INDEX "x_tbl_0_key" ON "x_tbl_0" ("k");
  CREATE VIRTUAL TABLE "x_tbl_0_rtree" USING rtree(
    run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day, +row_count INTEGER, +entries BLOB);
  INSERT INTO loader_table (data_name, table_name, schema, columns, unique_columns, created_at_us)
    VALUES ('x', 'x_tbl_0', 'event', '[${COLUMN}]', '["k"]', 0);
  INSERT INTO "x_tbl_0" ("k") VALUES (1), (2), (3);
`

t.test(
  'migrations: rows of an older schema are of this gateway, and their changes have numbers',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db')
    const old = openDatabase(file, DATA_MIGRATIONS.slice(0, OLD))
    old.exec(OLD_TABLE)
    old.close()
    openDataDb(file, { acceptsLoss: true }).close()

    const tables = openTables(file)
    t.teardown(() => tables.data.close())
    const table = await tables.reader.find('x')
    if (table === undefined) throw new Error('the table is not found')
    const record = (k: number) => ({ type: 'Feature', geometry: null, properties: { k } })
    t.same(await tables.put(table, [record(2), record(4)], 'override'), {
      upload: 2,
      duplicate: 1,
      insert: 1,
      update: 1,
    })
    t.same((await tables.put(table, [record(1)], 'skip', { origin: 'van' })).insert, 1)
    const today = utcDayOf(BigInt(NOW_US))
    const rows = await createTableChanges(tables.data.reader).after(table, 0, 10)
    t.same(
      rows.map(({ change, origin, day, values }) => [change, origin, day, Number(values[3])]),
      [
        [1, '', 0, 1],
        [3, '', 0, 3],
        [4, '', today, 2],
        [5, '', today, 4],
        [6, 'van', today, 1],
      ],
    )
  },
)

t.test('migrations: a table that was counted is counted again, without a trigger for new rows', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const until = DATA_MIGRATIONS.findIndex((step) => typeof step === 'function' && step.name === 'countRowIds')
  const old = openDatabase(file, DATA_MIGRATIONS.slice(0, OLD))
  old.exec(OLD_TABLE)
  old.close()
  const counted = openDatabase(file, DATA_MIGRATIONS.slice(0, until))
  counted.exec(`
    INSERT INTO loader_digest (table_id, counted) SELECT table_id, 3 FROM loader_table;
    CREATE TRIGGER "x_tbl_0_digest insert" AFTER INSERT ON x_tbl_0 BEGIN SELECT raise(ABORT, 'still there'); END`)
  counted.close()
  openDataDb(file, { acceptsLoss: true }).close()

  const tables = openTables(file)
  t.teardown(() => tables.data.close())
  const table = await tables.reader.find('x')
  if (table === undefined) throw new Error('the table is not found')
  const digests = createTableDigests(tables.data)
  t.match(await digests.uncounted(), [{ isStale: true }])
  await tables.put(table, [{ type: 'Feature', geometry: null, properties: { k: 9 } }])
  t.equal(await digests.count(table, 100), true)
  t.equal(
    (await digests.read(table, null))?.days.reduce((rows, { sum }) => rows + sum.rows, 0),
    4,
  )
})
