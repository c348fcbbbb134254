import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Geometry } from '../../../src/geo/types.js'
import { encodeWkb } from '../../../src/geo/wkb.js'
import type { DatasetColumn } from '../../../src/storage/columns/data-type.js'
import { stateColumn } from '../../../src/storage/columns/state-column.js'
import type { ImportFile } from '../../../src/storage/formats/import-file.js'
import { openGeopackage } from '../../../src/storage/formats/read-geopackage.js'
import { columns } from '../../support/datasets.js'

const POINT: Geometry = { type: 'Point', coordinates: [139.7, 35.6] }
const WKB = Buffer.from(encodeWkb(POINT))
/** Bytes of the envelope by the code in the flags of a GeoPackageBinary. */
const ENVELOPES = [0, 32, 48, 48, 64]

/** A geometry as a GeoPackage holds it. */
function packed(envelope: number, bytes = ENVELOPES[envelope] ?? 0): Buffer {
  const head = Buffer.from([0x47, 0x50, 0, (envelope << 1) | 1, 0, 0, 0, 0])
  return Buffer.concat([head, Buffer.alloc(bytes), WKB])
}

/** The tables that every GeoPackage has, without those that describe a citation. */
const EMPTY = `
  CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT);
  CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, srs_id INTEGER);`

/** A GeoPackage of another program. */
function made(t: Test, sql: string, fill: (db: Database.Database) => void = () => undefined): string {
  const file = path.join(t.testdir(), 'x.gpkg')
  const db = new Database(file)
  db.exec(`${EMPTY} ${sql}`)
  fill(db)
  db.close()
  return file
}

function opened(t: Test, file: string): ImportFile {
  const importFile = openGeopackage(file)
  t.teardown(() => importFile.close())
  return importFile
}

async function recordsOf(file: ImportFile, described: readonly DatasetColumn[]): Promise<unknown[][]> {
  const records: unknown[][] = []
  for await (const record of file.records(described.map(stateColumn))) records.push(record)
  return records
}

const PLACES = `
  INSERT INTO gpkg_contents VALUES ('places', 'features');
  INSERT INTO gpkg_geometry_columns VALUES ('places', 'geom', 4326);`

t.test('openGeopackage: types of a layer of another program become types of a dataset', async (t) => {
  const file = opened(
    t,
    made(
      t,
      `${PLACES}
      CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT, flag BOOLEAN NOT NULL, tiny TINYINT,
        small SMALLINT, medium MEDIUMINT, big INTEGER, whole INT, single FLOAT, twice DOUBLE, exact REAL,
        day DATE, at DATETIME, bytes BLOB(20), name TEXT(20) NOT NULL, odd CURRENCY)`,
    ),
  )
  t.same(
    file.columns,
    columns(
      ...['geom geometry(Geometry,4326)?', 'flag boolean', 'tiny smallint?', 'small smallint?'],
      ...['medium integer?', 'big bigint?', 'whole bigint?', 'single real?', 'twice double precision?'],
      ...[
        'exact double precision?',
        'day date?',
        'at timestamptz?',
        'bytes bytea?',
        'name text',
        'odd text?',
      ],
    ),
  )
  t.same(file.keyColumns, [])
})

t.test('openGeopackage: values come as dataset.record.put takes them', async (t) => {
  const described = columns(
    'geom geometry?',
    'flag boolean?',
    'big bigint?',
    'x double precision?',
    'b bytea?',
  )
  const more = columns('t text?', 'j json?', 'missing text?')
  const file = opened(
    t,
    made(
      t,
      `${PLACES} CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT, flag BOOLEAN, big INTEGER, x DOUBLE,
        b BLOB, t TEXT, j TEXT)`,
      (db) => {
        const insert = db.prepare('INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
        const bytes = Buffer.from([0, 1, 255])
        insert.run(-5, packed(0), 1, 9223372036854775807n, 0.5, bytes, 'text', '{"a":[1]}')
        insert.run(7, null, 0, -1, Infinity, Buffer.alloc(0), '', '"x"')
        insert.run(8, null, null, null, null, null, null, null)
      },
    ),
  )
  const hex = WKB.toString('hex')
  t.same(await recordsOf(file, [...described, ...more]), [
    [hex, true, '9223372036854775807', 0.5, 'AAH/', 'text', { a: [1] }, null],
    [null, false, '-1', 'Infinity', '', '', 'x', null],
    Array(8).fill(null),
  ])
})

t.test('openGeopackage: envelopes of every size are skipped, unknown ones refused', async (t) => {
  const layer = `${PLACES} CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT)`
  const fill = (blobs: Buffer[]) => (db: Database.Database) => {
    for (const blob of blobs) db.prepare('INSERT INTO places (geom) VALUES (?)').run(blob)
  }
  const all = made(t, layer, fill(ENVELOPES.map((_, code) => packed(code))))
  const described = columns('geom geometry?')
  t.same(await recordsOf(opened(t, all), described), Array(5).fill([WKB.toString('hex')]))
  for (const [blob, message] of [
    [packed(5, 0), 'found a geometry with the envelope code 5, expected 0 to 4'],
    [WKB, 'found a geometry without the magic GP, expected a GeoPackageBinary'],
    [Buffer.alloc(0), 'found a geometry without the magic GP, expected a GeoPackageBinary'],
  ] as const) {
    const file = made(t, layer, fill([blob]))
    await t.rejects(recordsOf(opened(t, file), described), {
      message: `${file}, table places, row 1, column geom: ${message}`,
    })
  }
})

t.test('openGeopackage: more rows than a page come once each, in the order of their ids', async (t) => {
  const file = made(
    t,
    `${PLACES} CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT, n INTEGER);
    WITH RECURSIVE k (n) AS (SELECT 1200 UNION ALL SELECT n - 1 FROM k WHERE n > 1)
    INSERT INTO places (fid, n) SELECT n * 3, n FROM k`,
  )
  const found = await recordsOf(opened(t, file), columns('n bigint'))
  t.same(
    found.flat(),
    Array.from({ length: 1200 }, (_, at) => String(at + 1)),
  )
})

t.test('openGeopackage: features come before attributes, which have no geometry', async (t) => {
  const attributes = `INSERT INTO gpkg_contents VALUES ('notes', 'attributes');
    CREATE TABLE notes (v TEXT); INSERT INTO notes VALUES ('a'), ('b');`
  const alone = opened(t, made(t, attributes))
  t.same(alone.columns, columns('v text?'))
  t.same(await recordsOf(alone, columns('v text?')), [['a'], ['b']], 'in the order of the rowid')
  const both = opened(
    t,
    made(t, `${attributes} ${PLACES} CREATE TABLE places (fid INTEGER PRIMARY KEY, geom)`),
  )
  t.same(both.columns, columns('geom geometry(Geometry,4326)?'))
})

t.test('openGeopackage: a layer without a known reference system counts as WGS 84', async (t) => {
  for (const [srid, expected] of [
    [0, 4326],
    [-1, 4326],
    [6677, 6677],
  ]) {
    const file = made(
      t,
      `INSERT INTO gpkg_contents VALUES ('places', 'features');
      INSERT INTO gpkg_geometry_columns VALUES ('places', 'geom', ${srid});
      CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT)`,
    )
    t.same(opened(t, file).columns, columns(`geom geometry(Geometry,${expected})?`), `${srid}`)
  }
})

const METADATA = `
  CREATE TABLE gpkg_metadata (id INTEGER PRIMARY KEY, mime_type TEXT, metadata TEXT);
  CREATE TABLE gpkg_metadata_reference (reference_scope TEXT, table_name TEXT, column_name TEXT,
    row_id_value INTEGER, md_file_id INTEGER);
  CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT, x DOUBLE, y DOUBLE);
  INSERT INTO places (fid) VALUES (1), (2);`

t.test('openGeopackage: metadata of another program does not describe the columns', async (t) => {
  const file = made(
    t,
    `${PLACES} ${METADATA}
    INSERT INTO gpkg_metadata VALUES (1, 'application/json', '{"title":"x"}'), (2, 'text/xml', '<a/>')`,
  )
  const other = opened(t, file)
  t.same(
    other.columns,
    columns('geom geometry(Geometry,4326)?', 'x double precision?', 'y double precision?'),
  )
  t.same(await recordsOf(other, columns('x double precision?')), [[null], [null]])
})

t.test('openGeopackage: a null that the metadata marks is NaN, in its row and column alone', async (t) => {
  const file = made(
    t,
    `${PLACES} ${METADATA}
    INSERT INTO gpkg_metadata VALUES (1, 'application/json', '{"value":"NaN"}');
    INSERT INTO gpkg_metadata_reference VALUES ('row/col', 'places', 'x', 2, 1)`,
  )
  t.same(await recordsOf(opened(t, file), columns('x double precision?', 'y double precision?')), [
    [null, null],
    ['NaN', null],
  ])
})

/** Reports whether this process has a file open. */
function isOpen(file: string): boolean {
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file
    } catch {
      return false // the descriptor of the listing itself
    }
  })
}

t.test('openGeopackage: a refused file is named with the place, and not left open', async (t) => {
  const json = (text: string) => `${PLACES} ${METADATA}
    INSERT INTO gpkg_metadata VALUES (1, 'application/json', '{"title":"x"}'), (7, 'application/json', '${text}')`
  const reason = 'Unexpected end of JSON input'
  for (const [sql, message] of [
    ["INSERT INTO gpkg_contents VALUES ('pictures', 'tiles')", ' has no table of features or attributes'],
    [
      `INSERT INTO gpkg_contents VALUES ('places', 'features');
       INSERT INTO gpkg_geometry_columns VALUES ('places', 'geom', 999000);
       CREATE TABLE places (geom POINT)`,
      ': found the system 999000 (srs_id) of the column geom, expected a code of EPSG',
    ],
    [PLACES, ': found no table places, expected the one that gpkg_contents lists'],
    ['DROP TABLE gpkg_contents', ': found no table gpkg_contents, expected a GeoPackage'],
    [
      'ALTER TABLE gpkg_contents RENAME COLUMN data_type TO kind',
      ' cannot be read as a GeoPackage: no such column: c.data_type',
    ],
    [json('{"a":'), `, gpkg_metadata 7: found no JSON (${reason}), expected JSON, as its mime_type states`],
    [
      json('{"citation":{"columns":1}}'),
      ', gpkg_metadata 7, citation.columns: found 1, expected an array of columns',
    ],
  ] as const) {
    const file = made(t, sql)
    t.throws(() => openGeopackage(file), { message: `${file}${message}` }, sql)
    t.notOk(isOpen(file), sql)
  }
  const fine = made(t, json('{}'))
  const kept = openGeopackage(fine)
  t.ok(isOpen(fine))
  kept.close()
  t.notOk(isOpen(fine))
})

t.test('openGeopackage: what is no SQLite file, or no file, is refused by its name', async (t) => {
  const file = path.join(t.testdir(), 'x.gpkg')
  const cannot = `${file} cannot be read as a GeoPackage:`
  t.throws(() => openGeopackage(file), { message: `${cannot} unable to open database file` })
  writeFileSync(file, 'no database, but long enough')
  t.throws(() => openGeopackage(file), { message: `${cannot} file is not a database` })
  t.notOk(isOpen(file))
})

t.test('openGeopackage: JSON that describes nothing is that of another program', async (t) => {
  for (const text of ['null', '[]', '{"citation":"Doe 2020"}', '{"citation":{"title":"x"}}']) {
    const file = made(
      t,
      `${PLACES} ${METADATA} INSERT INTO gpkg_metadata VALUES (1, 'application/json', '${text}')`,
    )
    t.equal(opened(t, file).columns?.length, 3, text)
  }
})

t.test('openGeopackage: a file of attributes alone may lack the table of geometry columns', async (t) => {
  const sql = `DROP TABLE gpkg_geometry_columns; INSERT INTO gpkg_contents VALUES ('notes', 'attributes');
    CREATE TABLE notes (v TEXT); INSERT INTO notes VALUES ('a')`
  const file = opened(t, made(t, sql))
  t.same(file.columns, columns('v text?'))
  t.same(await recordsOf(file, columns('v text?')), [['a']])
})

t.test('openGeopackage: a JSON column without JSON is refused with its row', async (t) => {
  const file = made(
    t,
    `${PLACES} CREATE TABLE places (fid INTEGER PRIMARY KEY, j TEXT); INSERT INTO places VALUES (1, '[1]'), (9, '{')`,
  )
  await t.rejects(recordsOf(opened(t, file), columns('j json?')), {
    message: new RegExp(`^${file}, table places, row 9, column j: found no JSON .+, expected a JSON value$`),
  })
})
