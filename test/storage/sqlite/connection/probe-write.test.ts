import path from 'node:path'
import t, { type Test } from 'tap'
import { openFile } from '../../../../src/storage/sqlite/connection/open-file.js'
import { probeWrite } from '../../../../src/storage/sqlite/connection/probe-write.js'

/** Two connections to one file, which wait for no lock. */
function opened(t: Test) {
  const file = path.join(t.testdir(), 'x.db')
  const open = (options = {}) => {
    const db = openFile(file, options)
    t.teardown(() => db.close())
    db.pragma('busy_timeout = 0')
    return db
  }
  const db = open()
  db.pragma('journal_mode = WAL')
  db.pragma('user_version = 7')
  return { db, open }
}

t.test('probeWrite: commits the version as it is', async (t) => {
  const { db, open } = opened(t)
  const other = open()
  const seen = () => other.pragma('data_version', { simple: true })
  const before = seen()
  probeWrite(db)
  t.not(seen(), before, 'another connection sees a commit')
  t.equal(other.pragma('user_version', { simple: true }), 7)
})

t.test(
  'probeWrite: takes no write lock inside a transaction, and is content while another writes',
  async (t) => {
    const { db, open } = opened(t)
    const other = open()
    db.exec('BEGIN')
    probeWrite(db)
    other.exec('BEGIN IMMEDIATE')
    db.exec('COMMIT')
    probeWrite(db)
    t.equal(db.inTransaction, false)
  },
)

t.test('probeWrite: a file that cannot be written is an error', async (t) => {
  const { open } = opened(t)
  const reader = open({ readonly: true })
  t.throws(() => probeWrite(reader), { code: 'SQLITE_READONLY' })
})
