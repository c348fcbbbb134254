import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { exportState } from '../../../src/storage/formats/export.js'
import { createKeyring } from '../../../src/storage/keyring.js'
import { columns, definition, openDatasets } from '../../support/datasets.js'
import { NOW_US } from '../../support/tables.js'

t.test(
  'writeGeopackage: rows without geometry, a reserved name and columns that are called fid',
  async (t) => {
    const dir = t.testdir()
    const { store, stores, close } = openDatasets(path.join(dir, 'data.db'))
    t.teardown(close)
    await store.create(definition('gpkg_notes', columns('fid int', 'fid_1 text?')))
    await store.put('gpkg_notes', [[7, 'a']], 'error')
    const state = await stores.datasets.find('gpkg_notes', NOW_US)
    if (state === undefined) throw new Error('no dataset')
    const file = path.join(dir, 'notes.gpkg')
    await exportState(state, 'gpkg', file, {
      env: { timeZoneMin: 0, nowUs: 0n },
      keyring: createKeyring(new Uint8Array(32)),
      readFile: async () => Buffer.of(),
    })
    const db = new Database(file, { readonly: true })
    t.teardown(() => db.close())
    t.same(db.prepare('SELECT * FROM _gpkg_notes').all(), [{ fid_2: 1, fid: 7, fid_1: 'a' }])
    t.same(
      db.prepare('SELECT table_name, data_type, description, min_x, max_y, srs_id FROM gpkg_contents').all(),
      [
        {
          table_name: '_gpkg_notes',
          data_type: 'attributes',
          description: 'gpkg_notes',
          min_x: null,
          max_y: null,
          srs_id: 0,
        },
      ],
    )
    t.same(db.prepare('SELECT * FROM gpkg_geometry_columns').all(), [])
    t.same(db.pragma('foreign_key_check'), [])
  },
)
