import path from 'node:path'
import t from 'tap'
import { openDataDb } from '../../../../src/storage/sqlite/connection/data-db.js'

t.test('openDataDb: opens while another program writes, and sees what it commits', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const busy = openDataDb(file)
  t.teardown(() => busy.close())
  busy.writer.exec('CREATE TABLE held (x); BEGIN IMMEDIATE; INSERT INTO held VALUES (1)')
  const other = openDataDb(file)
  t.teardown(() => other.close())
  const count = other.reader.prepare('SELECT count(*) FROM held').pluck()
  t.equal(count.get(), 0)
  busy.writer.exec('COMMIT')
  t.equal(count.get(), 1)
})

t.test('openDataDb: a new file can give pages back to the file system', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  openDataDb(file).close()
  const again = openDataDb(file)
  t.teardown(() => again.close())
  t.equal(again.writer.pragma('auto_vacuum', { simple: true }), 2, 'INCREMENTAL')
})
