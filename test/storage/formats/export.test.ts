import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { check } from '@placemarkio/check-geojson'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import type { Position } from '../../../src/geo/types.js'
import { exportState } from '../../../src/storage/formats/export.js'
import { openImport } from '../../../src/storage/formats/open-import.js'
import { allRecords, columns, definition, openDatasets, sumsOf } from '../../support/datasets.js'
import { anyGeometry } from '../../support/geometries.js'
import { EVERY_TYPE, exported, HARD, NESTED, openHard, options, POLYGON } from '../../support/hard-dataset.js'
import { missing } from '../../support/tools.js'

for (const [format, end] of [
  ['gpkg', 'gpkg'],
  ['geojson', 'geojson'],
  ['csv', 'csv'],
] as const) {
  t.test(`export: ${format} carries every type through put, cite, export and import unchanged`, async (t) => {
    const { dir, opened, longForm } = await openHard(t)
    const file = path.join(dir, `state.${end}`)
    t.equal(await exported(opened, longForm, format, file), HARD.length)
    const { store } = opened
    const again = await openImport(file)
    t.teardown(() => again.close())
    if (format !== 'csv') {
      t.same(again.columns, EVERY_TYPE)
      t.same(again.keyColumns, ['key'])
    }
    await store.create(definition('again', EVERY_TYPE, ['key']))
    const records: unknown[][] = []
    for await (const record of again.records(await store.columns('again'))) records.push(record)
    await store.put('again', records, 'error')
    const { longForm: second } = await store.cite('copy', 'again')
    t.same(await allRecords(store, second), await allRecords(store, longForm))
    const sums = await Promise.all(
      [longForm, second].map(async (label) => (await sumsOf(opened, label)).checksum),
    )
    t.equal(sums[0], sums[1], 'the same checksum')
  })
}

for (const end of ['gpkg', 'geojson', 'csv'] as const) {
  t.test(
    `export: ${end} carries infinite times, zeros and an empty point; import has the checksum`,
    async (t) => {
      const dir = t.testdir()
      const opened = openDatasets(path.join(dir, 'data.db'))
      t.teardown(() => opened.close())
      const { store } = opened
      const every = columns(
        'k int',
        'at timestamptz',
        'local timestamp',
        'day date',
        'double float8',
        'place geometry',
      )
      await store.create(definition('endless', every, ['k']))
      const minusZero = { type: 'LineString', coordinates: [[-0, 1, -0], [2, -0, 3]] } // biome-ignore format: short
      const records = [
        [1, 'infinity', '-infinity', 'infinity', -0, { type: 'Point', coordinates: [] }],
        [2, '-infinity', 'infinity', '-infinity', '-0.0', 'POINT EMPTY'],
        [3, '20250102', '2025-1-2 23:59:60', '2025/01/02', 0, minusZero],
      ]
      await store.put('endless', records, 'error')
      const { longForm } = await store.cite('paper', 'endless')
      const read = await allRecords(store, longForm)
      t.match(read, [
        { at: { val: 'infinity' }, local: { val: '-infinity' }, day: 'infinity', double: 0 },
        {
          at: { val: '-infinity' },
          local: { val: 'infinity' },
          day: '-infinity',
          place: { coordinates: [] },
        },
        { at: { val: '2025-01-02T00:00:00.000000+09:00' }, local: { val: '2025-01-03T00:00:00.000000' } },
      ])
      const file = path.join(dir, `state.${end}`)
      await exported(opened, longForm, end, file)
      const again = await openImport(file)
      t.teardown(() => again.close())
      await store.create(definition('again', every, ['k']))
      const imported = await Array.fromAsync(again.records(await store.columns('again')))
      await store.put('again', imported, 'error')
      const { longForm: second } = await store.cite('copy', 'again')
      t.same(await allRecords(store, second), read)
      t.equal((await sumsOf(opened, second)).checksum, (await sumsOf(opened, longForm)).checksum)
      const sorted = async (order: string) => (await allRecords(store, longForm, { order })).map(({ k }) => k)
      t.same([await sorted('at'), await sorted('day'), await sorted('-local')], [[2, 3, 1], [2, 3, 1], [2, 3, 1]]) // biome-ignore format: short
      const conds = { '>': ['at', '9999-12-31 00:00:00+00'] }
      t.same(
        (await allRecords(store, longForm, { conds })).map(({ k }) => k),
        [1],
      )
      t.same((await allRecords(store, longForm, { conds: { '=': ['day', '-infinity'] } })).length, 1)
    },
  )
}

t.test('export: values that are hard to carry are read as they were put', async (t) => {
  const { opened, longForm } = await openHard(t)
  const [first, second, third, last] = await allRecords(opened.store, longForm)
  t.same(first, {
    key: 1,
    big: '9223372036854775807',
    small: -32768,
    double: 'NaN',
    single: 'NaN',
    exact: '12345678901234567890.12345678901234567890',
    money: '1.50',
    name: '',
    padded: 'ab  ',
    words: '',
    flag: true,
    at: { _type: 'datetime', val: '2025-01-02T03:04:05.678901+09:00' },
    local: { _type: 'datetime', val: '0001-01-01T00:00:00.000001' },
    day: '9999-12-31',
    hour: '24:00:00',
    hour_zone: '03:04:05.678901+05:30',
    place: NESTED,
    area: POLYGON,
    facts: { a: [1, null, { b: '𝄞"\\\n' }], ключ: 1e-7 },
    bytes: 'AAEC/w==',
  })
  t.match(second, {
    double: 'Infinity',
    single: '-Infinity',
    exact: 'NaN',
    money: -0.05,
    name: '🚧 a,"b"\r\nc',
    facts: [],
  })
  t.match(third, {
    big: 9007199254740991,
    double: 5e-324,
    exact: '1.00',
    money: '0.00',
    facts: 'text',
    flag: null,
  })
  t.same(Object.values(last ?? {}).slice(1), Array(19).fill(null))
})

t.test(
  'export: a GeoPackage opens with ogrinfo: count, SRS, types and extent',
  { skip: missing('ogrinfo') },
  async (t) => {
    const { dir, opened, longForm } = await openHard(t)
    const file = path.join(dir, 'state.gpkg')
    await exported(opened, longForm, 'gpkg', file)
    const { stdout, stderr, status } = spawnSync('ogrinfo', ['-al', '-so', file], { encoding: 'utf8' })
    t.equal(status, 0)
    t.equal(stderr, '', 'no warnings')
    t.match(stdout, 'Layer name: hard')
    t.match(stdout, 'Feature Count: 4')
    t.match(stdout, 'Extent: (-180.000000, -90.000000) - (139.700000, 35.600000)')
    t.match(stdout, 'ID["EPSG",4326]')
    t.match(stdout, 'Geometry Column = place')
    for (const line of [
      'key: Integer (0.0) NOT NULL',
      'big: Integer64',
      'small: Integer(Int16)',
      'double: Real',
      'single: Real(Float32)',
      'exact: String',
      'name: String (20.0)',
      'flag: Integer(Boolean)',
      'at: DateTime',
      'day: Date',
      'bytes: Binary',
    ])
      t.match(stdout, line)
    const all = spawnSync('ogrinfo', ['-al', file], { encoding: 'utf8' })
    // GDAL expects milliseconds at most, remarks on the microseconds once, and reads them
    t.match(all.stderr, /^(Warning 1: Non-conformant content [^\n]*678901Z, successfully parsed\n)?$/)
    t.match(all.stdout, 'big (Integer64) = 9223372036854775807')
    t.match(all.stdout, 'words (String) = (null)')
  },
)

t.test('export: a GeoPackage holds its tables, boxes and provenance by the standard', async (t) => {
  const { dir, opened, longForm } = await openHard(t)
  const file = path.join(dir, 'state.gpkg')
  await exported(opened, longForm, 'gpkg', file)
  const db = new Database(file, { readonly: true })
  t.teardown(() => db.close())
  t.equal(db.pragma('application_id', { simple: true }), 0x47504b47)
  t.equal(db.pragma('user_version', { simple: true }), 10300)
  t.same(db.pragma('foreign_key_check'), [])
  t.same(db.prepare('SELECT srs_id FROM gpkg_spatial_ref_sys ORDER BY 1').pluck().all(), [-1, 0, 4326])
  t.same(
    db.prepare('SELECT table_name, data_type, min_x, min_y, max_x, max_y, srs_id FROM gpkg_contents').all(),
    [
      {
        table_name: 'hard',
        data_type: 'features',
        min_x: -180,
        min_y: -90,
        max_x: 139.7,
        max_y: 35.6,
        srs_id: 4326,
      },
    ],
  )
  t.same(
    db.prepare('SELECT column_name, geometry_type_name, srs_id, z, m FROM gpkg_geometry_columns').all(),
    [{ column_name: 'place', geometry_type_name: 'GEOMETRY', srs_id: 4326, z: 2, m: 0 }],
  )
  const [nested, , empty] = db.prepare<unknown[], Buffer>('SELECT place FROM hard ORDER BY key').pluck().all()
  t.equal(nested?.subarray(0, 2).toString(), 'GP')
  t.same(
    [0, 8, 16, 24].map((at) => nested?.readDoubleLE(8 + at)),
    [1, 139.7, 2, 35.6],
    'west, east, south, north',
  )
  t.equal((empty?.[3] ?? 0) & 0b1_0000, 0b1_0000, 'an empty geometry is marked')
  const [text] = db.prepare<unknown[], string>('SELECT metadata FROM gpkg_metadata ORDER BY id').pluck().all()
  t.match(JSON.parse(text ?? '').citation, {
    long_form: longForm,
    dataset_name: 'hard',
    key_columns: ['key'],
  })
  t.equal(db.prepare('SELECT at FROM hard WHERE key = 1').pluck().get(), '2025-01-01T18:04:05.678901Z')
  t.equal(db.prepare('SELECT at FROM hard WHERE key = 2').pluck().get(), '0001-01-01T00:00:00.000Z')
})

t.test('export: GeoJSON passes a validator, and every geometry comes out as it was put', async (t) => {
  const dir = t.testdir()
  const opened = openDatasets(path.join(dir, 'data.db'))
  t.teardown(() => opened.close())
  const double = fc.double({ min: -90, max: 90, noNaN: true })
  const position: fc.Arbitrary<Position> = fc.oneof(
    fc.tuple(double, double),
    fc.tuple(double, double, double),
  )
  const geometries = fc.sample(anyGeometry(position), { numRuns: 200, seed: 5 })
  await opened.store.create(definition('shapes', columns('shape geometry?')))
  await opened.store.put('shapes', [...geometries.map((shape) => [shape]), [null]], 'error')
  const { longForm } = await opened.store.cite('c', 'shapes')
  const file = path.join(dir, 'shapes.geojson')
  await exported(opened, longForm, 'geojson', file)
  const text = readFileSync(file, 'utf8')
  const { features } = JSON.parse(text)
  t.same(
    features.map(({ geometry }: { geometry: unknown }) => geometry),
    [...geometries, null],
  )
  // the validator knows no empty geometries and no collections within collections, which RFC 7946 allows
  const isBeyond = (json: unknown): boolean => /\[\]|Collection.*Collection/.test(JSON.stringify(json))
  const checked = features.filter(({ geometry }: { geometry: unknown }) => !isBeyond(geometry))
  t.ok(checked.length > 50)
  t.doesNotThrow(() => check(JSON.stringify({ ...JSON.parse(text), features: checked })))
})

t.test('export: CSV distinguishes null from an empty text and quotes where required', async (t) => {
  const dir = t.testdir()
  const opened = openDatasets(path.join(dir, 'data.db'))
  t.teardown(() => opened.close())
  await opened.store.create(definition('texts', columns('a text?', 'b text?')))
  await opened.store.put(
    'texts',
    [
      ['', null],
      ['a,b', 'say "x"'],
      [' x', 'y\r\nz'],
    ],
    'error',
  )
  await opened.store.cite('c', 'texts')
  const file = path.join(dir, 'texts.csv')
  await exported(opened, 'c', 'csv', file)
  t.equal(readFileSync(file, 'utf8'), 'a,b\r\n"",\r\n"a,b","say ""x"""\r\n" x","y\r\nz"\r\n')
})

t.test('export: the canonical text has the checksum for its SHA-256; both are frozen', async (t) => {
  const { dir, opened, longForm } = await openHard(t)
  await opened.store.settled()
  const file = path.join(dir, 'state.txt')
  await exported(opened, longForm, 'canonical', file)
  const bytes = readFileSync(file)
  const [info] = await opened.store.listCitations({})
  t.equal(createHash('sha256').update(bytes).digest('hex'), info?.checksum)
  t.equal(info?.checksum, 'b81ed33519058b75301be6e8ab542703b8c4244615c481ce248844ec0227b241')
  t.matchOnly(bytes.toString('utf8').split('\n')[4], `[4,${Array(19).fill('null').join(',')}]`)
})

t.test('export: a file appears whole or not at all', async (t) => {
  const dir = t.testdir()
  const opened = openDatasets(path.join(dir, 'data.db'))
  t.teardown(() => opened.close())
  await opened.store.create(definition('many', columns('n int')))
  const many = Array.from({ length: 2000 }, (_, n) => [n])
  await opened.store.put('many', many, 'error')
  const { longForm } = await opened.store.cite('c', 'many')
  const file = path.join(dir, 'state.csv')
  writeFileSync(file, 'what was there before')
  const citation = await opened.stores.citations.find(longForm)
  if (citation === undefined) throw new Error('no citation')
  const stop = new AbortController()
  const stopped = exportState(citation, 'csv', file, {
    ...options(opened),
    signal: stop.signal,
    onRows: () => stop.abort(),
  })
  await t.rejects(stopped)
  t.equal(readFileSync(file, 'utf8'), 'what was there before')
  t.same(
    spawnSync('ls', ['-A', dir], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((name) => name.includes('part')),
    [],
  )
})

t.test('export: GeoJSON is refused for coordinates that are no longitudes and latitudes', async (t) => {
  const dir = t.testdir()
  const opened = openDatasets(path.join(dir, 'data.db'))
  t.teardown(() => opened.close())
  await opened.store.create(definition('grid', columns('p geometry(Point,6677)?')))
  await opened.store.put('grid', [[{ type: 'Point', coordinates: [-12345.6, 987654.3] }]], 'error')
  await opened.store.cite('c', 'grid')
  await t.rejects(exported(opened, 'c', 'geojson', path.join(dir, 'grid.geojson')), /srid 6677/)
  await exported(opened, 'c', 'gpkg', path.join(dir, 'grid.gpkg'))
  const again = await openImport(path.join(dir, 'grid.gpkg'))
  t.teardown(() => again.close())
  t.same(again.columns, columns('p geometry(Point,6677)?'))
})
