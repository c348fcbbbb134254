import Database from 'better-sqlite3'
import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { encodeWkb } from '../../../../src/geo/wkb.js'
import { addSqlFunctions, keepArea } from '../../../../src/storage/sqlite/connection/sql-functions.js'

const POINT = { type: 'Point' as const, coordinates: [1, 2] as [number, number] }

t.test('sql functions: null in, null out; a value that is no text or geometry is null, too', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  addSqlFunctions(db)
  const handle = keepArea(db, prepareArea(POINT))
  const select = (sql: string, ...params: unknown[]) => db.prepare(`SELECT ${sql}`).pluck().get(params)
  t.equal(select('geo_intersects(?, ?)', encodeWkb(POINT), handle), 1)
  t.equal(select('geo_within(?, ?)', encodeWkb(POINT), handle), 1)
  for (const name of ['decimal_sort_key', 'timetz_sort_key'])
    for (const value of [null, Buffer.of(1)]) t.equal(select(`${name}(?)`, value), null, name)
  for (const name of ['geo_intersects', 'geo_within']) {
    t.equal(select(`${name}(NULL, ?)`, handle), null, name)
    t.throws(() => select(`${name}(?, 99)`, encodeWkb(POINT)), /no area has the handle 99/, name)
  }
})

t.test('sql functions: registered again they keep the areas of running statements', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  addSqlFunctions(db)
  const handle = keepArea(db, prepareArea(POINT))
  addSqlFunctions(db)
  t.equal(db.prepare('SELECT geo_intersects(?, ?)').pluck().get(encodeWkb(POINT), handle), 1)
})

t.test('sql functions: a connection without them keeps no areas', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  t.throws(() => keepArea(db, prepareArea(POINT)), /addSqlFunctions was not called for this connection/)
})
