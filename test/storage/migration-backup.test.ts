import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/storage/database.js'
import { readDatabaseFacts } from '../../src/storage/database-facts.js'
import { backupBeforeMigration } from '../../src/storage/migration-backup.js'

const V1 = ['CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT']
const V2 = [...V1, 'CREATE TABLE b (id INTEGER PRIMARY KEY) STRICT; INSERT INTO b SELECT id FROM a']
const V3 = [...V2, 'DROP TABLE a']
const withBackup = { beforeMigrate: backupBeforeMigration }

function oldDatabase(dir: string): string {
  const file = path.join(dir, 'state.db')
  const db = openDatabase(file, V1, withBackup)
  db.exec('INSERT INTO a VALUES (7), (8)')
  db.close()
  return file
}

t.test('upgrade: the database as it was is kept before each migration, the newest one of each', async (t) => {
  const dir = t.testdir()
  const file = oldDatabase(dir)
  t.notOk(existsSync(path.join(dir, 'upgrades')), 'a new database is no migration')
  openDatabase(file, V2, withBackup).close()
  t.same(readDatabaseFacts(path.join(dir, 'upgrades/state.db.v1')), { schemaVersion: 1, rows: { a: 2 } })
  t.same(readDatabaseFacts(file), { schemaVersion: 2, rows: { a: 2, b: 2 } })
  openDatabase(file, V3, withBackup).close()
  t.same(readdirSync(path.join(dir, 'upgrades')), ['state.db.v2'])
  openDatabase(file, V3, withBackup).close()
  t.same(readdirSync(path.join(dir, 'upgrades')), ['state.db.v2'], 'nothing to migrate, nothing to keep')
})

t.test('upgrade: a migration that fails leaves the database, and its backup', async (t) => {
  const dir = t.testdir()
  const file = oldDatabase(dir)
  t.throws(() => openDatabase(file, [...V1, 'CREATE TABLE c (id INTEGER PRIMARY KEY); nonsense'], withBackup))
  t.same(readDatabaseFacts(file), { schemaVersion: 1, rows: { a: 2 } })
  t.ok(existsSync(path.join(dir, 'upgrades/state.db.v1')))
  openDatabase(file, V2, withBackup).close()
  t.equal(readDatabaseFacts(file).schemaVersion, 2)
})

t.test('upgrade: without its backup nothing is migrated', async (t) => {
  const dir = t.testdir()
  const file = oldDatabase(dir)
  mkdirSync(path.join(dir, 'upgrades'))
  writeFileSync(path.join(dir, 'upgrades/state.db.v1.part'), 'left behind')
  mkdirSync(path.join(dir, 'upgrades/state.db.v1'))
  t.throws(() => openDatabase(file, V2, withBackup), /was not migrated, for its backup .* could not be made/)
  t.equal(readDatabaseFacts(file).schemaVersion, 1)
  rmSync(path.join(dir, 'upgrades/state.db.v1'), { recursive: true })
  openDatabase(file, V2, withBackup).close()
  t.same(readdirSync(path.join(dir, 'upgrades')), ['state.db.v1'])
})

t.test('upgrade: a newer database is refused with both versions, and left as it is', async (t) => {
  const dir = t.testdir()
  const file = oldDatabase(dir)
  openDatabase(file, V3, withBackup).close()
  chmodSync(file, 0o600)
  t.throws(() => openDatabase(file, V1, withBackup), /has schema version 3, this Fieldgate knows 1/)
  t.equal(readDatabaseFacts(file).schemaVersion, 3)
})
