import Database from 'better-sqlite3'
import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { encodeWkb } from '../../../../src/geo/wkb.js'
import {
  addSqlFunctions,
  guardStatements,
  keepArea,
} from '../../../../src/storage/sqlite/connection/sql-functions.js'

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

t.test('sql functions: like_all and like_any of several patterns; null for what is no text', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  addSqlFunctions(db)
  const select = (name: string, text: unknown, patterns: string[]) =>
    db.prepare(`SELECT ${name}(?, ?)`).pluck().get(text, JSON.stringify(patterns))
  t.same([select('like_all', 'abc', ['a%', '%c']), select('like_all', 'abc', ['a%', '%b'])], [1, 0])
  t.same([select('like_any', 'abc', ['b%', '%c']), select('like_any', 'abc', ['b%', '%b'])], [1, 0])
  t.same([select('like_any', null, ['%']), select('like_all', Buffer.of(1), ['%'])], [null, null])
  for (let n = 0; n < 40; n++) t.equal(select('like_any', `x${n}`, [`x${n}`, 'y']), 1, 'more than are kept')
})

t.test('sql functions: a guard ends a statement at the next row, with its own error', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  addSqlFunctions(db)
  const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n WHERE`
  const ended = new Error('ended')
  const functions = [
    'row_alive(i)',
    `like_any('x' || i, '["%y%"]')`,
    `geo_intersects(x'00', ${keepArea(db, prepareArea(POINT))})`,
  ]
  for (const sql of functions) {
    let calls = 0
    guardStatements(db, () => {
      calls++
      if (calls === 5) throw ended
    })
    t.throws(() => db.prepare(`${rows} ${sql} IS NOT NULL`).all(), ended, sql)
    guardStatements(db, undefined)
    t.doesNotThrow(() => db.prepare(`${rows} ${sql} IS NOT NULL`).all())
  }
})
