import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import {
  forgetStatements,
  keptStatements,
  openDatabase,
  retryBusy,
  statement,
  writtenRow,
} from '../../../../src/storage/sqlite/connection/database.js'
import { rejectsWith } from '../../../support/rejects-with.js'

t.test('statement: the same text is prepared once, and no more than a thousand are kept', async (t) => {
  const db = openDatabase(':memory:', [])
  t.teardown(() => db.close())
  t.equal(statement(db, 'SELECT 1'), statement(db, 'SELECT 1'))
  const first = statement<number>(db, 'SELECT 7').pluck()
  for (let i = 0; i < 3000; i++) statement(db, `SELECT ${i} AS shape_${i}`)
  t.equal(keptStatements(db), 1000)
  t.equal(first.get(), 7, 'one that was dropped works on for whoever holds it')
  t.equal(statement<number>(db, 'SELECT 7').pluck().get(), 7)
})

t.test('statement: a connection that has prepared none keeps none, and forgets none', async (t) => {
  const db = openDatabase(':memory:', [])
  t.teardown(() => db.close())
  const other = new Database(':memory:')
  t.teardown(() => other.close())
  forgetStatements(other, 'events')
  t.equal(keptStatements(other), 0)
})

t.test('statement: those of a table are forgotten, the others stay', async (t) => {
  const db = openDatabase(':memory:', ['CREATE TABLE a (x); CREATE TABLE b (x)'])
  t.teardown(() => db.close())
  const [ofA, ofB] = ['a', 'b'].map((name) => statement(db, `SELECT x FROM "${name}"`))
  forgetStatements(db, '"a"')
  t.not(statement(db, 'SELECT x FROM "a"'), ofA)
  t.equal(statement(db, 'SELECT x FROM "b"'), ofB)
})

t.test(
  'openDatabase: a migration that fills the disk says so, and leaves the schema as it was',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db')
    openDatabase(file, ['CREATE TABLE a (x)']).close()
    const large = [
      'CREATE TABLE a (x)',
      'PRAGMA max_page_count = 3; CREATE TABLE b AS SELECT randomblob(1000000)',
    ]
    t.throws(() => openDatabase(file, large), {
      message: `${file} cannot be written: the disk is full, make room on it`,
    })
    const db = openDatabase(file, ['CREATE TABLE a (x)'])
    t.same(db.prepare('SELECT name FROM sqlite_schema').pluck().all(), ['a'])
    db.close()
  },
)

t.test('retryBusy: BUSY after its limit, other errors at once', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const holder = openDatabase(file, [])
  const other = openDatabase(file, [])
  t.teardown(() => {
    holder.close()
    other.close()
  })
  holder.exec('BEGIN IMMEDIATE')
  await rejectsWith(
    t,
    retryBusy(() => other.exec('BEGIN IMMEDIATE'), 0),
    'BUSY',
    { message: /Another program holds the database/ },
  )
  let calls = 0
  const failing = retryBusy(() => {
    calls++
    other.exec('nonsense')
  })
  await t.rejects(failing, { code: 'SQLITE_ERROR' })
  t.equal(calls, 1)
})

t.test('writtenRow: a row, or an error that names the fault', async (t) => {
  t.equal(writtenRow(0), 0)
  t.throws(() => writtenRow(undefined), { message: 'a row written in this transaction was not found' })
})
