import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { backupBeforeMigration } from '../../../../src/storage/sqlite/connection/migration-backup.js'
import { readDatabaseFacts } from '../../../../src/storage/sqlite/maintenance/database-facts.js'
import { workerEntry } from '../../../support/worker-entry.js'

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
  t.throws(() => openDatabase(file, V2, withBackup), /was not migrated because its backup .* failed/)
  t.equal(readDatabaseFacts(file).schemaVersion, 1)
  rmSync(path.join(dir, 'upgrades/state.db.v1'), { recursive: true })
  openDatabase(file, V2, withBackup).close()
  t.same(readdirSync(path.join(dir, 'upgrades')), ['state.db.v1'])
})

const MARGIN = 16 * 1024 * 1024

t.test(
  'upgrade: too little room is told with both figures and the file, and nothing is migrated',
  async (t) => {
    const dir = t.testdir()
    const file = oldDatabase(dir)
    const expected = 2 * statSync(file).size + MARGIN
    const open = (found: number) => () =>
      openDatabase(file, V2, {
        beforeMigrate: (of, from) => backupBeforeMigration(of, from, () => found),
      }).close()
    t.throws(open(expected - 1), {
      message: `${file} (schema version 1) was not migrated: found ${expected - 1} bytes free, expected ${expected} for its backup and the migration; make room, and start again`,
    })
    t.same(readDatabaseFacts(file), { schemaVersion: 1, rows: { a: 2 } })
    t.notOk(existsSync(path.join(dir, 'upgrades')))
    open(expected)()
    t.same(readDatabaseFacts(file), { schemaVersion: 2, rows: { a: 2, b: 2 } }, 'with enough it goes on')
  },
)

t.test(
  'upgrade: on a disk that is nearly full the program says so, and leaves the data as they are',
  async (t) => {
    const dir = t.testdir({ disk: {} })
    const small = path.join(dir, 'disk')
    const entry = workerEntry()
    // the small disk is seen by this one shell and what it starts; the test needs no rights for it where
    // namespaces are to be had
    const script = `mount -t tmpfs -o size=12m tmpfs "$1" && "$2" "$3" init --data-dir "$1/data" --json > "$1/init" &&
    "$2" -e 'const D = require("better-sqlite3"); const db = new D(process.argv[1]); db.pragma("user_version = 1"); db.close()' "$1/data/state.db" &&
    sha256sum < "$1/data/state.db" > "$1/before" && "$2" "$3" serve --port 0 --data-dir "$1/data" > "$1/../out" 2>&1; echo "exit code $?" >> "$1/../out"
    sha256sum < "$1/data/state.db" | cmp - "$1/before" && ls "$1/data" >> "$1/../out"`
    const wrapped = [
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      script,
      'sh',
      small,
      process.execPath,
      entry,
    ]
    const { error, status, stderr } = spawnSync('unshare', wrapped, { encoding: 'utf8' })
    if (error !== undefined || /unshare: |mount: /.test(stderr)) {
      t.pass(`skipped: this system lets nobody mount a small disk: ${error?.message ?? stderr}`)
      return
    }
    t.equal(status, 0, stderr)
    const said = readFileSync(path.join(dir, 'out'), 'utf8')
    t.match(
      said,
      /state\.db \(schema version 1\) was not migrated: found \d+ bytes free, expected \d+ for its backup and the migration; make room, and start again/,
    )
    t.match(said, /exit code 1/)
    t.notMatch(said, /upgrades/)
  },
)

t.test('upgrade: a newer database is refused with both versions, and left as it is', async (t) => {
  const dir = t.testdir()
  const file = oldDatabase(dir)
  openDatabase(file, V3, withBackup).close()
  chmodSync(file, 0o600)
  t.throws(() => openDatabase(file, V1, withBackup), /has schema version 3, this Fieldgate knows 1/)
  t.equal(readDatabaseFacts(file).schemaVersion, 3)
})

t.test('upgrade: a database without a log beside it is backed up, too', async (t) => {
  const dir = t.testdir()
  const file = oldDatabase(dir)
  t.notOk(existsSync(`${file}-wal`), 'the last connection has removed it')
  backupBeforeMigration(file, 1)
  t.same(readDatabaseFacts(path.join(dir, 'upgrades/state.db.v1')), { schemaVersion: 1, rows: { a: 2 } })
})
