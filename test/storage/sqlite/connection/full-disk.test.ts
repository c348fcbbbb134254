import { mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { createReserve } from '../../../../src/storage/sqlite/connection/reserve.js'
import { cannotMount, smallDisk } from '../../../support/small-disk.js'

t.test('full disk: neither a reserve nor a database is begun', { skip: cannotMount }, async (t) => {
  const { dir, fill } = smallDisk(t, '8m')
  const folder = path.join(dir, 'data')
  mkdirSync(folder)
  t.equal(fill(), '0')
  const reserve = createReserve(path.join(folder, 'state.db'))
  await reserve.refill()
  t.same([readdirSync(folder), reserve.exists()], [[], false], 'nothing is left half written')
  t.throws(() => openDatabase(path.join(folder, 'data.db'), ['CREATE TABLE x (id INTEGER) STRICT']), {
    message: /data\.db cannot be written: the disk is full, make room on it/,
  })
})

t.test('database: one whose log cannot be opened says so, and does not speak of damage', async (t) => {
  const dir = t.testdir({ 'data.db-wal': {} })
  t.throws(() => openDatabase(path.join(dir, 'data.db'), []), {
    message: /^\/.*\/data\.db cannot be opened \([^:]*\)$/,
  })
})
