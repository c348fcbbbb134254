import t from 'tap'
import {
  keptStatements,
  openDatabase,
  statement,
} from '../../../../src/storage/sqlite/connection/database.js'

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
