import t from 'tap'
import {
  type Migration,
  migrate,
  requireMigrated,
} from '../../../../src/storage/postgres/connection/migrate.js'
import { makeDatabase, noPostgres, openDb, optionsFor, startServer } from '../../../support/postgres.js'

const FIRST: Migration = { name: 'first', statements: ['CREATE TABLE a (x int)', 'INSERT INTO a VALUES (1)'] }
const SECOND: Migration = { name: 'second', statements: ['ALTER TABLE a ADD COLUMN y int'] }
const THIRD: Migration = {
  name: 'third',
  statements: ['CREATE TABLE b (x int)', 'SELECT no_such_function()'],
}
const nowUs = () => 1_800_000_000_000_000

t.test('PostgreSQL: migrations', { skip: noPostgres() }, async (t) => {
  const server = await startServer(t)
  const open = async () => {
    const name = await makeDatabase(server)
    return { name, db: openDb(t, optionsFor([server.host], name)) }
  }

  await t.test('each is applied once, also by processes that start together', async (t) => {
    const { db, name } = await open()
    await t.rejects(requireMigrated(db, [FIRST]), /without migration 1 "first", expected it/)
    const other = openDb(t, optionsFor([server.host], name))
    const done = await Promise.all([db, other, db].map((one) => migrate(one, [FIRST], nowUs)))
    t.same(done.flat(), ['first'])
    t.same(await migrate(other, [FIRST, SECOND], nowUs), ['second'])
    t.same(await db.read.all('SELECT x, y FROM a'), [{ x: 1, y: null }])
    await requireMigrated(db, [FIRST, SECOND])
    t.same(await db.read.all('SELECT number, name, applied_at_us AS at FROM migration ORDER BY number'), [
      { number: 1, name: 'first', at: nowUs() },
      { number: 2, name: 'second', at: nowUs() },
    ])
  })

  await t.test('a schema of a newer program is refused by name, one of another program too', async (t) => {
    const { db } = await open()
    await migrate(db, [FIRST, SECOND], nowUs)
    const newer =
      /migration 2 "second" in the schema "fieldgate", expected at most 1: a newer program made it/
    await t.rejects(migrate(db, [FIRST], nowUs), newer)
    await t.rejects(requireMigrated(db, [FIRST]), newer)
    await t.rejects(migrate(db, [SECOND], nowUs), /found migration 1 "first".*expected 1 "second"/)
    await t.rejects(requireMigrated(db, [FIRST, SECOND, THIRD]), /without migration 3 "third"/)
  })

  await t.test('one that fails leaves nothing, and those before it stay', async (t) => {
    const { db } = await open()
    await t.rejects(migrate(db, [FIRST, THIRD], nowUs), { code: '42883' })
    t.same(await db.read.get(`SELECT to_regclass('b') AS b`), { b: null })
    await requireMigrated(db, [FIRST])
  })

  await t.test('two schemas of one database know nothing of each other', async (t) => {
    const { db, name } = await open()
    const other = openDb(t, optionsFor([server.host], name, { schema: 'van_2' }))
    await migrate(db, [FIRST], nowUs)
    t.same(await migrate(other, [FIRST, SECOND], nowUs), ['first', 'second'])
    t.same(await db.read.all('SELECT * FROM a'), [{ x: 1 }])
  })
})
