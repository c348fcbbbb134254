import { createRequire } from 'node:module'
import path from 'node:path'
import t from 'tap'
import { exportState } from '../../../../src/storage/formats/export.js'
import { openGeopackage } from '../../../../src/storage/formats/read-geopackage.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { nativeBinding } from '../../../../src/storage/sqlite/connection/native.js'
import { openFile } from '../../../../src/storage/sqlite/connection/open-file.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { NOW_US } from '../../../support/tables.js'

const PACKAGE = path.dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json'))
const ADDON = path.join(PACKAGE, `prebuilds/${process.platform}-${process.arch}.node`)

t.test('native: a file that is missing leaves the addon to the package', async (t) => {
  process.env.FIELDGATE_SQLITE_ADDON = path.join(t.testdir(), 'none.node')
  t.equal(nativeBinding(), undefined)
  openFile(':memory:').close()
})

t.test('native: the addon that is named serves databases and GeoPackages', async (t) => {
  process.env.FIELDGATE_SQLITE_ADDON = ADDON
  const binding = nativeBinding()
  t.type(binding, 'object')
  t.equal(nativeBinding(), binding, 'loaded once')
  const dir = t.testdir()
  const { store, stores, close } = openDatasets(path.join(dir, 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns('k int')))
  await store.put('d', [[1], [2]], 'error')
  const state = await stores.datasets.find('d', NOW_US)
  if (state === undefined) throw new Error('no dataset')
  const file = path.join(dir, 'd.gpkg')
  await exportState(state, 'gpkg', file, {
    env: { timeZoneMin: 0, nowUs: 0n },
    keyring: createKeyring(new Uint8Array(32)),
    readFile: async () => Buffer.of(),
  })
  const again = openGeopackage(file)
  t.teardown(() => again.close())
  const records: unknown[][] = []
  for await (const record of again.records(state.columns)) records.push(record)
  t.same(records, [['1'], ['2']])
})
