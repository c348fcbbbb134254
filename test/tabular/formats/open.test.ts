import { execFileSync } from 'node:child_process'
import { openAsBlob, readFileSync } from 'node:fs'
import path from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import t from 'tap'
import { unpackedBytes } from '../../../src/tabular/formats/bytes.js'
import { openRowFile } from '../../../src/tabular/formats/open.js'
import { openSqliteFile } from '../../../src/tabular/formats/sqlite-file.js'
import type { FileChoices, FileRow } from '../../../src/tabular/row-file.js'

async function read(
  content: string | Uint8Array<ArrayBuffer>,
  name: string,
  choices: FileChoices = {},
): Promise<FileRow[]> {
  const file = await openRowFile(new Blob([content]), name, choices)
  const rows: FileRow[] = []
  for await (const batch of file.batches()) rows.push(...batch)
  return rows
}

/** A ZIP archive of one file or more. */
function zipOf(files: Record<string, Buffer>, { method = 8, flags = 0 } = {}): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, bytes] of Object.entries(files)) {
    const packed = method === 8 ? deflateRawSync(bytes) : bytes
    const head = Buffer.alloc(30)
    head.writeUInt32LE(0x04034b50, 0)
    head.writeUInt16LE(Buffer.byteLength(name), 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(flags, 8)
    entry.writeUInt16LE(method, 10)
    entry.writeUInt32LE(packed.length, 20)
    entry.writeUInt16LE(Buffer.byteLength(name), 28)
    entry.writeUInt32LE(offset, 42)
    parts.push(head, Buffer.from(name), packed)
    directory.push(entry, Buffer.from(name))
    offset += 30 + Buffer.byteLength(name) + packed.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...directory, end])
}

t.test('openRowFile: CSV in any encoding and with any separator', async (t) => {
  const rows = [{ place: 2, values: { a: '1', 'b b': null } }]
  t.same(await read('a,b b\n1,\n', 'x.csv'), rows)
  t.same(await read('sep=;\r\na;b b\r\n1;\r\n', 'x.csv'), [{ ...rows[0], place: 3 }])
  t.same(await read(Buffer.from('\ufeffa\tb b\n1\t\n', 'utf16le'), 'x.txt'), rows)
  t.same(await read(gzipSync('a|b b\n1|'), 'x.csv.gz'), rows)
  const sjis = Buffer.from([0x93, 0xfa, 0x2c, 0x62, 0x0a, 0x31, 0x2c, 0x32])
  t.same(await read(sjis, 'x.csv', { encoding: 'shift_jis' }), [{ place: 2, values: { 日: '1', b: '2' } }])
  await t.rejects(read(sjis, 'x.csv'), { message: /./, fileFault: 'ENCODING' })
  t.same(await read('a,,c\n1,2,3', 'x.csv'), [{ place: 2, values: { a: '1', column_2: '2', c: '3' } }])
})

t.test('openRowFile: what is wrong is refused with its line', async (t) => {
  await t.rejects(read('', 'x.csv'), { message: 'the file has no rows' })
  await t.rejects(read('a,A\n1,2', 'x.csv'), { message: 'found two columns named "A": rename one' })
  await t.rejects(read('a,b\n1,2\n3\n', 'x.csv'), { message: /^line 3: found 1 values, expected 2/ })
  await t.rejects(read('{"a":1}\n{"a":\n', 'x.ndjson'), { message: /^line 2: found text that is not JSON/ })
  await t.rejects(read('[1]', 'x.json'), { message: 'record 1: found 1, expected a Feature or an object' })
  await t.rejects(read('{"type":"Topology"}', 'x.json'), { message: /./, fileFault: 'NOT_COLLECTION' })
  await t.rejects(read('"a"', 'x.json'), { message: /./, fileFault: 'NOT_COLLECTION' })
  await t.rejects(read('{"type":"Feature","properties":3}', 'x.json'), {
    message: /./,
    fileFault: 'NOT_FEATURE',
  })
  await t.rejects(read('x', 'x.parquet'), { message: /^found the name x.parquet, expected .csv/ })
  await t.rejects(read('x', 'roads.shp'), { message: /./, fileFault: 'SHAPEFILE' })
})

t.test('openRowFile: GeoJSON, lines of it, and plain objects', async (t) => {
  const feature = '{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":1}}'
  const row = { values: { a: 1 }, geometry: { type: 'Point', coordinates: [1, 2] } }
  t.same(await read(`{"type":"FeatureCollection","features":[${feature}]}`, 'x.json'), [{ place: 1, ...row }])
  t.same(await read(feature, 'x.geojson'), [{ place: 1, ...row }])
  t.same(await read(`\n\u001e${feature}\n${feature}`, 'x.geojsons'), [
    { place: 2, ...row },
    { place: 3, ...row },
  ])
  t.same((await read(`${feature}\n${feature}\n`, 'x.json')).length, 2, 'lines under the name of a collection')
  t.same(await read('[{"a":1},{"a":2}]', 'x.json'), [
    { place: 1, values: { a: 1 } },
    { place: 2, values: { a: 2 } },
  ])
})

t.test('openRowFile: archives', async (t) => {
  const rows = [{ place: 2, values: { a: '1' } }]
  t.same(await read(zipOf({ 'readme.md': Buffer.from('x'), 'd/x.csv': Buffer.from('a\n1') }), 'x.zip'), rows)
  t.same(await read(zipOf({ 'x.csv': Buffer.from('a\n1') }, { method: 0 }), 'x.zip'), rows, 'stored')
  const two = zipOf({ 'x.csv': Buffer.from('a\n1'), 'y.csv': Buffer.from('b\n1\n2\n3') })
  const file = await openRowFile(new Blob([two]), 'x.zip', { entry: 'x.csv' })
  t.same([file.entry, file.entries], ['x.csv', ['x.csv', 'y.csv']])
  await t.rejects(read(zipOf({ 'x.shp': Buffer.from('x') }), 'x.zip'), {
    message: /./,
    fileFault: 'SHAPEFILE',
  })
  await t.rejects(read(zipOf({ 'x.md': Buffer.from('x') }), 'x.zip'), { message: /./, fileFault: 'NO_ENTRY' })
  await t.rejects(read(zipOf({ 'x.csv': Buffer.from('x') }, { flags: 1 }), 'x.zip'), { message: /encrypted/ })
  await t.rejects(read(zipOf({ 'x.csv': Buffer.from('x') }, { method: 12 }), 'x.zip'), {
    message: /method 12/,
  })
  await t.rejects(read('no archive', 'x.zip'), { message: /found no directory/ })
  const damaged = zipOf({ 'x.csv': Buffer.from('a\n'.repeat(500)) })
  damaged.fill(0x5a, 36, 42)
  await t.rejects(read(damaged, 'x.zip'), { message: /./, fileFault: 'BAD_ARCHIVE' })
  await t.rejects(read(damaged.subarray(60), 'x.zip'), { message: /./, fileFault: 'BAD_ARCHIVE' })
})

t.test('unpackedBytes: an archive that unpacks to more than allowed is refused', async (t) => {
  const bomb = new Blob([deflateRawSync(Buffer.alloc(1_000_000))])
  await t.rejects(
    async () => {
      let most = 0
      for await (const chunk of unpackedBytes(bomb, 'deflate-raw', 300_000).chunks()) most += chunk.length
      return most
    },
    { fileFault: 'TOO_LARGE', message: /^found more than 0.3 MB of data/ },
  )
})

t.test('openRowFile: a GeoPackage, read without SQLite', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'x.gpkg')
  const db = new Database(file)
  db.pragma('page_size = 512')
  db.exec(`
    CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER PRIMARY KEY, organization TEXT, organization_coordsys_id INTEGER);
    INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326), ('UTM', 32629, 'EPSG', 32629);
    CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT);
    CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, srs_id INTEGER, PRIMARY KEY (table_name, column_name));
    INSERT INTO gpkg_contents VALUES ('plain', 'attributes'), ('points', 'features'), ('utm', 'features'), ('tiles', 'tiles');
    INSERT INTO gpkg_geometry_columns VALUES ('points', 'geom', 'POINT', 4326), ('utm', 'geom', 'POINT', 32629);
    CREATE TABLE plain (id INTEGER PRIMARY KEY, "a ""b""" TEXT, CONSTRAINT c CHECK (id > 0));
    CREATE TABLE utm (fid INTEGER PRIMARY KEY, geom BLOB);
    CREATE TABLE points (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom POINT, [n] INTEGER, big INTEGER,
      size NUMERIC(10,2) DEFAULT (1), flag BOOLEAN, note TEXT -- a comment, with a comma
    );`)
  const wkb = Buffer.concat([
    Buffer.from([0x47, 0x50, 0, 1]),
    Buffer.from([0xe6, 0x10, 0, 0]),
    Buffer.from('0101000000000000000000f03f0000000000000040', 'hex'),
  ])
  const long = '長'.repeat(5000)
  const insert = db.prepare('INSERT INTO points (geom, n, big, size, flag, note) VALUES (?, ?, ?, ?, ?, ?)')
  for (let n = 0; n < 3000; n++)
    insert.run(n === 1 ? null : wkb, n - 200, BigInt(n) * 2n ** 50n, n / 4, n % 2, n === 7 ? long : `r${n}`)
  db.prepare('INSERT INTO plain (id, "a ""b""") VALUES (?, ?)').run(1, 'x')
  db.close()
  const bytes = readFileSync(file)
  const rows = await read(bytes, 'x.gpkg')
  t.equal(rows.length, 3000)
  t.same(rows[0], {
    place: 1,
    values: { n: -200, big: 0, size: 0, flag: false, note: 'r0' },
    geometry: { type: 'Point', coordinates: [1, 2] },
  })
  t.same(rows[1]?.geometry, null)
  t.same(rows[7]?.values.note, long, 'on pages of its own')
  t.same(rows[2999]?.values, {
    n: 2799,
    big: String(2999n * 2n ** 50n),
    size: 749.75,
    flag: true,
    note: 'r2999',
  })
  t.same(await read(bytes, 'x.gpkg', { layer: 'plain' }), [
    { place: 1, values: { 'a "b"': 'x' }, geometry: null },
  ])
  await t.rejects(read(bytes, 'x.gpkg', { layer: 'utm' }), { message: /^found coordinates of EPSG:32629/ })
  t.equal((await read(zipOf({ 'x.gpkg': bytes }), 'x.zip')).length, 3000)
  await t.rejects(read(bytes.subarray(0, 2048), 'x.gpkg'), { message: /found 2048 bytes, expected/ })
  await t.rejects(read('not a database', 'x.gpkg'), { message: /./, fileFault: 'BAD_DATABASE' })
  await t.rejects(read(Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100)]), 'x.gpkg'), {
    message: /found a page of kind 0/,
  })
})

t.test('openSqliteFile: what SQLite wrote, damaged in any place, is read or refused', async (t) => {
  const file = path.join(t.testdir(), 'x.db')
  const db = new Database(file)
  db.exec('CREATE TABLE a (x, y)')
  const insert = db.prepare('INSERT INTO a VALUES (?, ?)')
  for (let n = 0; n < 300; n++) insert.run(n * 1000, 'text '.repeat(n))
  db.close()
  const bytes = readFileSync(file)
  let [refused, read] = [0, 0]
  for (let at = 16; at < bytes.length; at += 1511) {
    const damaged = Buffer.from(bytes)
    damaged[at] = (damaged[at] ?? 0) ^ 0xff
    try {
      const opened = await openSqliteFile(new Blob([damaged]))
      const table = opened.table('a')
      if (table !== undefined) for await (const rows of opened.rows(table)) read += rows.length
    } catch (error) {
      t.match(error, { message: /./, fileFault: 'BAD_DATABASE' })
      refused++
    }
  }
  t.ok(refused > 0 && read > 0)
})

t.test('openRowFile: a GeoPackage of GDAL', { skip: !hasOgr() && 'ogr2ogr is not installed' }, async (t) => {
  const dir = t.testdir({
    'in.geojson': JSON.stringify({
      type: 'FeatureCollection',
      features: [1, 2].map((n) => ({
        type: 'Feature',
        geometry: {
          type: 'LineString',
          coordinates: [
            [n, 2],
            [3, 4],
          ],
        },
        properties: { n, when: '2026-01-31T10:00:00Z', yes: true },
      })),
    }),
  })
  const out = path.join(dir, 'out.gpkg')
  execFileSync('ogr2ogr', ['-f', 'GPKG', out, path.join(dir, 'in.geojson')])
  const file = await openRowFile(await openAsBlob(out), 'out.gpkg')
  for await (const rows of file.batches())
    t.match(rows, [
      { values: { n: 1, when: /^2026-01-31T10:00/, yes: true }, geometry: { type: 'LineString' } },
      { values: { n: 2 } },
    ])
})

function hasOgr(): boolean {
  try {
    execFileSync('ogr2ogr', ['--version'])
    return true
  } catch {
    return false
  }
}
