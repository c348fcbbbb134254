import path from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Geometry } from '../../../src/geo/types.js'
import { encodeWkb } from '../../../src/geo/wkb.js'
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
    const db = await exported(t, dir, await stores.datasets.find('gpkg_notes', NOW_US))
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

const SHAPES: readonly Geometry[] = [
  { type: 'Point', coordinates: [139.5, 35.25] },
  {
    type: 'LineString',
    coordinates: [
      [3, 9],
      [-4, 8],
    ],
  },
  { type: 'Point', coordinates: [-1, 60, 5] },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [9, 0],
        [9, 7],
        [0, 0],
      ],
    ],
  }, // more bytes than a page has as digits
]
/** west, east, south, north of each; points have none */
const ENVELOPES = [[], [-4, 3, 8, 9], [], [0, 9, 0, 7]]

t.test(
  'writeGeopackage: rows that one statement inserts, and the rest, each with its own place',
  async (t) => {
    const dir = t.testdir()
    const { store, stores, close } = openDatasets(path.join(dir, 'data.db'))
    t.teardown(close)
    const defined = columns('k int', 'place geometry(Geometry,4326)?', 'at timestamptz', 'v float8')
    await store.create(definition('places', defined))
    // the statement has 25 rows of five columns
    const rows = Array.from({ length: 60 }, (_, n) => ({
      shape: n % 5 === 4 ? null : ((n % 5) as 0 | 1 | 2 | 3),
      second: n >> 1, // equal times follow one another
      v: n % 11 === 3 ? 'NaN' : n / 8,
    }))
    const records = rows.map(({ shape, second, v }, n) => [
      n,
      shape === null ? null : SHAPES[shape],
      `2026-01-01 00:00:${String(second).padStart(2, '0')}Z`,
      v,
    ])
    await store.put('places', records, 'error')
    const db = await exported(t, dir, await stores.datasets.find('places', NOW_US))
    const expected = rows.map(({ shape, second, v }, n) => ({
      fid: n + 1,
      k: n,
      place: shape === null ? null : blobOf(shape),
      at: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`,
      v: v === 'NaN' ? null : v,
    }))
    t.same(db.prepare('SELECT * FROM places').all(), expected)
    t.same(
      db
        .prepare("SELECT row_id_value FROM gpkg_metadata_reference WHERE reference_scope = 'row/col'")
        .pluck()
        .all(),
      expected.filter(({ v }) => v === null).map(({ fid }) => fid),
    )
    t.same(db.prepare('SELECT min_x, min_y, max_x, max_y FROM gpkg_contents').raw().get(), [-4, 0, 139.5, 60])
  },
)

/** GeoPackageBinary, with an envelope unless it is a point. */
function blobOf(shape: 0 | 1 | 2 | 3): Buffer {
  const envelope = Float64Array.from(ENVELOPES[shape] ?? [])
  const flags = envelope.length > 0 ? 0b0_0011 : 0b0_0001
  const head = Buffer.from([0x47, 0x50, 0, flags, 4326 & 255, 4326 >> 8, 0, 0])
  return Buffer.concat([head, Buffer.from(envelope.buffer), encodeWkb(SHAPES[shape] as Geometry)])
}

/** Exports a dataset, and opens the file. */
async function exported(t: Test, dir: string, state: Parameters<typeof exportState>[0] | undefined) {
  if (state === undefined) throw new Error('no dataset')
  const file = path.join(dir, 'exported.gpkg')
  await exportState(state, 'gpkg', file, {
    env: { timeZoneMin: 0, nowUs: 0n },
    keyring: createKeyring(new Uint8Array(32)),
    readFile: async () => Buffer.of(),
  })
  const db = new Database(file, { readonly: true })
  t.teardown(() => db.close())
  return db
}
