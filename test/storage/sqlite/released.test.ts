import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { computeSums } from '../../../src/storage/formats/checksum.js'
import type { DatabaseName } from '../../../src/storage/maintenance.js'
import { createCitationReader } from '../../../src/storage/sqlite/citations/store.js'
import { openDataDb } from '../../../src/storage/sqlite/connection/data-db.js'
import {
  checkDatabase,
  countRows,
  KNOWN_VERSIONS,
  schemaVersionOf,
} from '../../../src/storage/sqlite/maintenance/database-facts.js'
import { openState } from '../../../src/storage/sqlite/state.js'

/** Databases of every released version, made once by `scripts/make-fixture-database.mjs`. */
const FOLDER = 'test/fixtures/databases'

interface Expected {
  databases: Record<DatabaseName, { schemaVersion: number; rows: Record<string, number> }>
  citations: Record<string, string>
}

for (const version of readdirSync(FOLDER).sort()) {
  t.test(
    `released: the databases of ${version} are migrated, with every row and every citation`,
    async (t) => {
      const dir = path.join(t.testdir(), 'data')
      mkdirSync(dir)
      const from = path.join(FOLDER, version)
      const expected = JSON.parse(readFileSync(path.join(from, 'expected.json'), 'utf8')) as Expected
      for (const name of ['state.db', 'data.db'] as const)
        writeFileSync(path.join(dir, name), gunzipSync(readFileSync(path.join(from, `${name}.gz`))))

      const state = await openState(path.join(dir, 'state.db'))
      const data = openDataDb(path.join(dir, 'data.db'))
      t.teardown(async () => {
        data.close()
        await state.close()
      })
      for (const [name, db] of [['state.db', state.stateDb.db] as const, ['data.db', data.reader] as const]) {
        const { schemaVersion, rows } = expected.databases[name]
        t.equal(schemaVersionOf(db), KNOWN_VERSIONS[name])
        t.same(checkDatabase(db, 'full'), [])
        t.match(countRows(db), rows, `${name}: every row of a table that is still there`)
        const isMigrated = schemaVersion < KNOWN_VERSIONS[name]
        t.equal(existsSync(path.join(dir, `upgrades/${name}.v${schemaVersion}`)), isMigrated)
      }
      const found: Record<string, string> = {}
      for (const citation of await createCitationReader(data.reader).all())
        found[citation.info.longForm] = (await computeSums(citation)).checksum
      t.same(found, expected.citations)
      t.equal((await state.keys.list()).length, 3)
    },
  )
}
