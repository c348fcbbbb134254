import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { layoutOf, makeDirectories } from '../../../src/files/layout.js'
import { openDataDb } from '../../../src/storage/sqlite/connection/data-db.js'
import { transaction } from '../../../src/storage/sqlite/connection/database.js'
import { registerTable } from '../../../src/storage/sqlite/tables/catalog.js'
import type { Column } from '../../../src/storage/tables.js'
import { ALL_COLUMNS, anyRecord } from '../../support/any-record.js'
import { cli } from '../../support/run-cli.js'
import { columnOf, feature, openTables } from '../../support/tables.js'

/** A data directory with a table, and how the verbs are called on it. */
function createSample(
  t: Test,
  columns: Partial<Column>[] = [{ name: 'k', udtName: 'int4' }, { name: 'name' }],
  uniqueColumns = ['k'],
) {
  const dir = t.testdir()
  const layout = layoutOf(path.join(dir, 'data'))
  makeDirectories(layout)
  const register = (dataName: string) => {
    const data = openDataDb(layout.dataDb)
    transaction(data.writer, () =>
      registerTable(
        data.writer,
        { dataName, schema: 'event', columns: columns.map(columnOf), uniqueColumns },
        0,
      ),
    )
    data.close()
  }
  register('x')
  const run = (...argv: string[]) => cli(dir, ['data', ...argv, '--data-dir', 'data', '--json'])
  return {
    dir,
    register,
    run,
    async import(file: string, content: string | Uint8Array, ...flags: string[]) {
      writeFileSync(path.join(dir, file), content)
      const { code, stdout, stderr } = await run('import', file, '--table', 'x', ...flags)
      return { code, stderr, ...(stdout === '' ? {} : JSON.parse(stdout)) }
    },
    async export(file: string, table = 'x', ...flags: string[]) {
      const { code, stdout, stderr } = await run('export', '--table', table, '-o', file, ...flags)
      return {
        code,
        stderr,
        ...(stdout === '' ? {} : JSON.parse(stdout)),
        text: code === 0 && !file.endsWith('gpkg') ? readFileSync(path.join(dir, file), 'utf8') : '',
      }
    },
  }
}

const FEATURES = [
  feature([139, 35], { k: 1, name: 'a, "b"' }),
  feature(null, { k: 2, name: '' }),
  feature([140, 36, 5], { k: 3 }),
]
const LINES = FEATURES.map((one) => JSON.stringify(one)).join('\n')
const CSV = 'k,name,location\r\n1,"a, ""b""",POINT(139 35)\r\n2,"",\r\n3,,POINT Z (140 36 5)\r\n'

t.test('data import: every format gives the same records', async (t) => {
  const collection = JSON.stringify({ type: 'FeatureCollection', name: 'n', features: FEATURES, crs: {} })
  const files: [string, string | Uint8Array, string[]][] = [
    ['a.geojson', collection, []],
    ['a.json', `\ufeff${JSON.stringify(JSON.parse(collection), null, 2)}`, []],
    ['a.ndjson', LINES, []],
    ['a.geojsonl', FEATURES.map((one) => `\u001e${JSON.stringify(one)}\n`).join(''), []],
    ['a.ndjson.gz', gzipSync(LINES), []],
    ['a.csv', CSV, []],
    ['a.csv.gz', gzipSync(CSV), []],
    ['b.csv', 'Lat,lon,k,name,height\n35,139,1,"a, ""b""",\n,,2,"",\n36,140,3,,5\n', ['--ignore-unknown']],
    [
      'c.csv',
      'k,name,geo\n1,"a, ""b""",POINT(139 35)\n2,"",\n3,,0101000080000000000080614000000000000042400000000000001440\n',
      ['--geometry', 'geo'],
    ],
  ]
  for (const [file, content, flags] of files) {
    const sample = createSample(t)
    t.match(
      await sample.import(file, content, ...flags),
      { code: 0, table: 'x', made: false, upload: 3, insert: 3 },
      file,
    )
    const rows = linesOf((await sample.export('out.ndjson')).text)
    t.match(rows[0], { geometry: { coordinates: [139, 35] }, properties: { k: 1, name: 'a, "b"' } }, file)
    t.match(rows[1], { geometry: null, properties: { k: 2, name: '' } }, file)
    t.match(
      rows[2],
      {
        geometry: { coordinates: file === 'b.csv' ? [140, 36] : [140, 36, 5] },
        properties: { k: 3, name: null },
      },
      file,
    )
  }
})

t.test('data import: records of a key that is there are skipped, overwritten, or end it', async (t) => {
  const sample = createSample(t)
  await sample.import('a.ndjson', LINES)
  t.match(await sample.import('a.ndjson', LINES), { code: 0, insert: 0, update: 0, duplicate: 3 })
  t.match(await sample.import('a.ndjson', LINES, '--if-exists', 'override'), { code: 0, update: 3 })
  t.match(await sample.import('a.ndjson', LINES, '--if-exists', 'error'), {
    code: 1,
    stderr: /record 1: a record with k 1 already exists/,
  })
  t.match(await sample.import('a.ndjson', LINES, '--if-exists', 'no'), {
    code: 2,
    stderr: /--if-exists: found no, expected override, skip, error/,
  })
})

t.test('data import: a table is created from the file when its key is named', async (t) => {
  const sample = createSample(t)
  const csv = 'code,count,rate,open,note,lng,lat\n007,1,0.5,true,,139,35\n008,2,3,false,x,139.5,35\n'
  writeFileSync(path.join(sample.dir, 'new.csv'), csv)
  const made = await sample.run('import', 'new.csv', '--table', 'new', '--unique', 'code')
  t.match(JSON.parse(made.stdout), { table: 'new', made: true, insert: 2 })
  const tables = openTables(layoutOf(path.join(sample.dir, 'data')).dataDb)
  t.teardown(() => tables.data.close())
  const table = await tables.reader.find('new')
  t.same(
    table?.columns.slice(3).map(({ name, udtName, isNullable }) => [name, udtName, isNullable]),
    [
      ['code', 'text', false],
      ['count', 'int8', true],
      ['rate', 'float8', true],
      ['open', 'bool', true],
      ['note', 'text', true],
    ],
  )
  const again = await sample.run('import', 'new.csv', '--table', 'other')
  t.match(again, { code: 1, stderr: /there is no table other: register it, or name its key with --unique/ })
  writeFileSync(path.join(sample.dir, 'bad.csv'), 'a:b,c\n1,2\n')
  t.match(await sample.run('import', 'bad.csv', '--table', 'other', '--unique', 'd'), {
    code: 1,
    stderr: /unique_columns/,
  })
})

t.test(
  'data import: says how a file would become a table, and what its key shares, and stores nothing',
  async (t) => {
    const sample = createSample(t)
    const rows = Array.from(
      { length: 12 },
      (_, at) => `s${at % 3};2026/1/1 ${at % 4}:00;${at},5;${at === 7 ? '-' : at};9`,
    )
    writeFileSync(
      path.join(sample.dir, 'in.csv'),
      `Station;Time;Level (m);n;lng\n${rows.join('\n')}\ns1;2026/1/1 1:00;1,5;1;9\n`,
    )
    const look = await cli(sample.dir, [
      'data',
      'import',
      'in.csv',
      '--table',
      'new',
      '--dry-run',
      '--data-dir',
      'data',
    ])
    t.equal(
      look.stdout,
      `csv, utf-8, semicolon: 13 records
  Station text
  Level_m float8 (Level (m))
  n text
  lng int8
start: Time; end: none; place: none
key: the best that was found is --unique Station,start_datetime, which 1 records share with an earlier one: line 14 has the key of line 3 (Station "s1", start_datetime "2026-01-01 01:00")
note: n is text because of 1 values such as "-" (line 9)
Nothing was stored.
`,
    )
    const named = ['import', 'in.csv', '--table', 'new', '--unique', 'Station,Time']
    t.match(JSON.parse((await sample.run(...named, '--dry-run')).stdout), {
      records: 13,
      start: { source: 'Time', form: 'slash' },
      key: { columns: ['Station', 'start_datetime'], shared: 1 },
    })
    t.match(await sample.run(...named), {
      code: 1,
      stderr: /line 14 has the key of line 3 .*; nothing was stored/,
    })
    t.match(
      await sample.export('out.ndjson', 'new'),
      { code: 1, stderr: /no table is named new/ },
      'no empty table',
    )
    const made = await sample.run(...named, '--if-exists', 'skip')
    t.match(JSON.parse(made.stdout), { made: true, insert: 12, duplicateInFile: 1 })
    t.match(made.stderr, /columns with another name: Time → start_datetime, Level \(m\) → Level_m/)
    const [first] = linesOf((await sample.export('out.ndjson', 'new')).text)
    t.match(first, {
      properties: { start_datetime: /^2026-01-01T00:00:00/, Station: 's0', Level_m: 0.5, n: '0' },
    })
    t.match(await sample.run('import', 'in.csv', '--table', 'new', '--time', 'n'), {
      code: 2,
      stderr: /--time/,
    })
  },
)

t.test(
  'data import: an import that stops leaves no empty table; encodings, separators, archives',
  async (t) => {
    const sample = createSample(t)
    const write = (name: string, content: string | Uint8Array) =>
      writeFileSync(path.join(sample.dir, name), content)
    write('bad.csv', 'id,lng,lat\n1,100,95\n')
    const bad = await sample.run('import', 'bad.csv', '--table', 'new', '--unique', 'id')
    t.match(bad, { code: 1, stderr: /line 2: location: .*; the 0 records before its batch are stored/ })
    t.match(await sample.export('out.ndjson', 'new'), { code: 1, stderr: /no table is named new/ })
    write('sjis.csv', Buffer.from([0x6b, 0x2c, 0x6e, 0x61, 0x6d, 0x65, 0x0a, 0x31, 0x2c, 0x93, 0xfa, 0x0a]))
    t.match(await sample.run('import', 'sjis.csv', '--table', 'x'), { code: 1, stderr: /not utf-8/ })
    t.match(await sample.run('import', 'sjis.csv', '--table', 'x', '--encoding', 'shift_jis'), { code: 0 })
    write('two.csv', 'k,name;b\n2,c;d\n')
    t.match(await sample.run('import', 'two.csv', '--table', 'x'), { code: 1, stderr: /choose one/ })
    t.match(await sample.run('import', 'two.csv', '--table', 'x', '--separator', 'dot'), { code: 2 })
    write('twice.csv', 'k,K\n1,2\n')
    t.match(await sample.run('import', 'twice.csv', '--table', 'x'), {
      code: 1,
      stderr: /two columns named "K"/,
    })
    write('a.zip', 'no archive')
    t.match(await sample.run('import', 'a.zip', '--table', 'x'), {
      code: 1,
      stderr: /a\.zip: the archive cannot be/,
    })
    t.match(linesOf((await sample.export('out.ndjson')).text), [{ properties: { k: 1, name: '日' } }])
  },
)

/** Files that cannot be read, and what is said. */
const BAD: [string, string | Uint8Array, RegExp, string[]?][] = [
  ['a.xml', '', /expected \.geojson/],
  ['a.geojson.gz', gzipSync('{}'), /decompress it first/],
  ['a.geojson', '{"type":"FeatureCollection"}', /not a GeoJSON FeatureCollection/],
  ['a.geojson', '[]', /not a GeoJSON FeatureCollection/],
  ['a.geojson', '{"features":[{]}', /a\.geojson: .*not valid JSON/],
  [
    'a.geojson',
    '{"features":[{"type":"Feature","geometry":null,"properties":{"k":1}},{"type":"Feature","geometry":null,"properties":{"k":"x"}}]}',
    /record 2: k: found "x", expected a whole number.*; the 0 records before its batch are stored/,
  ],
  ['a.ndjson', `${LINES}\n{`, /a\.ndjson, line \d+: found text that is not JSON/],
  ['a.ndjson', JSON.stringify(feature(null, { k: 1, z: 1 })), /record 1: z: found the unknown property "z"/],
  ['a.ndjson.gz', gzipSync(LINES).subarray(0, 40), /not a complete gzip file/],
  ['a.csv', '', /has no rows/],
  ['a.csv', 'k,name\n1\n', /line 2: found 1 values, expected 2/],
  ['a.csv', 'k,lng,lat\n1,east,35\n', /line 2: location: .*"east"/],
  ['a.csv', 'k,wkt\n1,POINT(1)\n', /line 2: location: .*WKT/],
  ['a.csv', 'k\n1\n', /has no column "geo"/, ['--geometry', 'geo']],
  ['a.csv', Buffer.from([0x6b, 0x0a, 0xff, 0x0a]), /line 2 is not utf-8: choose the encoding/],
  ['a.gpkg', 'no database', /a\.gpkg/],
  ['missing.ndjson.x', '', /expected \.geojson/],
]

t.test('data import: what cannot be read ends in one line, and nothing is stored', async (t) => {
  const sample = createSample(t)
  for (const [file, content, message, flags = []] of BAD) {
    const { code, stderr } = await sample.import(file, content, ...flags)
    t.equal(code, 1, `${file} ${stderr}`)
    t.match(stderr, message, file)
    t.equal(stderr.trim().split('\n').length, 1, stderr)
  }
  t.equal((await sample.export('out.ndjson')).text, '')
  t.match(await sample.run('import', 'nowhere.csv', '--table', 'x'), {
    code: 1,
    stderr: /nowhere\.csv: the file does not exist/,
  })
  t.match(await sample.run('import', 'a.csv'), { code: 2, stderr: /--table/ })
})

t.test('data export: formats by name, conditions and boxes; nothing is left by a fault', async (t) => {
  const sample = createSample(t)
  await sample.import('a.ndjson', LINES)
  const { text } = await sample.export('a.geojson')
  t.match(JSON.parse(text), { type: 'FeatureCollection', features: [{ properties: { k: 1 } }, {}, {}] })
  t.equal(
    (await sample.export('out.csv')).text,
    'start_datetime,end_datetime,location,k,name\r\n,,POINT (139 35),1,"a, ""b"""\r\n,,,2,""\r\n,,POINT Z (140 36 5),3,\r\n',
  )
  t.match(await sample.export('a.dat', 'x', '--format', 'ndjson', '--conds', '{">":["k",1]}'), {
    code: 0,
    rows: 2,
  })
  t.match(await sample.export('a.ndjson', 'x', '--bbox', '138,34,139,35'), { rows: 1 })
  t.match(JSON.parse((await sample.export('empty.geojson', 'x', '--conds', '{"=":["k",9]}')).text), {
    features: [],
  })
  const before = readdirSync(sample.dir).sort()
  const cases: [string, string, string[], number, RegExp][] = [
    ['a.xml', 'x', [], 2, /expected a name that ends with/],
    ['b.geojson', 'x', ['--format', 'xml'], 2, /--format: found xml/],
    ['b.geojson', 'x', ['--conds', '{'], 1, /--conds: found/],
    ['b.geojson', 'x', ['--conds', '{"=":["z",1]}'], 1, /--conds/],
    ['b.geojson', 'x', ['--bbox', '1,2,3'], 2, /--bbox/],
    ['b.geojson', 'y', [], 1, /no table is named y, expected one of x/],
    ['none/b.geojson', 'x', [], 1, /--output: the folder \S+none does not exist: create it first/],
  ]
  for (const [file, table, flags, code, message] of cases)
    t.match(await sample.export(file, table, ...flags), { code, stderr: message }, file)
  t.same(readdirSync(sample.dir).sort(), before)
})

t.test('property: any records come back the same through each format', async (t) => {
  for (const format of ['geojson', 'ndjson', 'csv', 'gpkg']) {
    const sample = createSample(t, ALL_COLUMNS, ['id'])
    sample.register('y')
    const records =
      fc.sample(fc.tuple(...Array.from({ length: 12 }, (_, id) => anyRecord(id + 1))), 1)[0] ?? []
    await sample.import('in.ndjson', records.map(({ feature: one }) => JSON.stringify(one)).join('\n'))
    const first = await sample.export('first.ndjson')
    t.match(await sample.export(`a.${format}`), { code: 0, rows: 12 })
    const { code, stderr } = await sample.run('import', `a.${format}`, '--table', 'y')
    t.equal(code, 0, stderr)
    const second = await sample.export('second.ndjson', 'y')
    t.same(linesOf(second.text), linesOf(first.text), format)
  }
})

function linesOf(text: string): unknown[] {
  const lines = text.trim() === '' ? [] : text.trim().split('\n')
  return lines.map((line: string) => JSON.parse(line))
}

t.test('data export: a GeoPackage is one by its own tables', async (t) => {
  const sample = createSample(t)
  await sample.import('a.ndjson', LINES)
  await sample.export('a.gpkg')
  const db = new Database(path.join(sample.dir, 'a.gpkg'), { readonly: true })
  t.teardown(() => db.close())
  t.match(
    db.prepare('SELECT table_name, data_type, description, min_x, max_y, srs_id FROM gpkg_contents').get(),
    { table_name: 'x', data_type: 'features', description: 'x', min_x: 139, max_y: 36, srs_id: 4326 },
  )
  t.match(db.prepare('SELECT column_name, z FROM gpkg_geometry_columns').get(), {
    column_name: 'location',
    z: 2,
  })
  t.same(db.prepare('SELECT k, name FROM x ORDER BY k').all(), [
    { k: 1, name: 'a, "b"' },
    { k: 2, name: '' },
    { k: 3, name: null },
  ])
})

t.test(
  'data import: records of the file that share a key are an error with examples, unless decided',
  async (t) => {
    const cwd = t.testdir({ 'rows.csv': 'k,n,lng,lat\na,1,139,35\nb,2,139,35\na,3,139,35\nb,4,139,35\n' })
    await cli(cwd, ['init'])
    const run = (...more: string[]) =>
      cli(cwd, ['data', 'import', 'rows.csv', '--table', 'x', '--unique', 'k', '--json', ...more])
    const refused = await run()
    t.equal(refused.code, 1)
    t.match(
      refused.stderr,
      /share the key \(k\): line 4 has the key of line 2 \(k "a"\); line 5 has the key of line 3 \(k "b"\); .*--if-exists skip or override; nothing was stored/,
    )
    const absent = await cli(cwd, ['data', 'export', '--table', 'x', '--output', 'x.geojson'])
    t.match(absent.stderr, /no table is named x/, 'a refused import makes no table with the wrong key')
    t.not(absent.code, 0)
    const skipped = await run('--if-exists', 'skip')
    t.equal(skipped.code, 0, skipped.stderr)
    const otherKey = await cli(cwd, ['data', 'import', 'rows.csv', '--table', 'x', '--unique', 'k,n'])
    t.equal(otherKey.code, 2)
    t.match(
      otherKey.stderr,
      /--unique: found k, n, expected k, which is the key of the table x; to choose another key, name another table/,
    )
    t.match(JSON.parse(skipped.stdout), { upload: 4, duplicate: 2, duplicateInFile: 2, insert: 2, update: 0 })
    t.match(skipped.stderr, /warning: 2 records share their key with an earlier record of the file: line 4/)
    const other = await cli(cwd, ['data', 'import', 'rows.csv', '--table', 'y', '--unique', 'n', '--json'])
    t.match(JSON.parse(other.stdout), { insert: 4, duplicateInFile: 0 }, 'a key of its own for each')
    const again = await cli(cwd, ['data', 'import', 'rows.csv', '--table', 'y', '--json'])
    t.match(
      JSON.parse(again.stdout),
      { insert: 0, duplicate: 4, duplicateInFile: 0 },
      'what the table has is skipped',
    )
  },
)

t.test('data: a directory of other files is not made one of a gateway', async (t) => {
  const cwd = t.testdir({ 'a.csv': 'id,x\n1,2\n', other: { 'note.txt': '' } })
  const verbs = [
    ['data', 'import', 'a.csv', '--table', 'a', '--unique', 'id'],
    ['data', 'export', '--table', 'a', '-o', 'b.csv'],
    ['retention', 'list'],
  ]
  for (const argv of verbs)
    t.match(await cli(cwd, [...argv, '--data-dir', 'other']), {
      code: 1,
      stderr: /other holds files, and no gateway's data: give the --data-dir of the gateway/,
    })
  t.same(readdirSync(path.join(cwd, 'other')), ['note.txt'])
})

t.test(
  'data: a directory with some files of a gateway, or with nothing of its own, is made whole',
  async (t) => {
    const cwd = t.testdir({
      ...{
        modules: { modules: { m: {} } },
        key: { 'secret.key': '' },
        disk: { 'lost+found': {} },
        'a.txt': '',
      },
    })
    for (const dir of ['modules', 'disk'])
      t.match(await cli(cwd, ['retention', 'list', '--data-dir', dir]), { code: 0 }, dir)
    t.match(await cli(cwd, ['retention', 'list', '--data-dir', 'key']), { code: 1, stderr: /secret\.key/ })
    t.match(await cli(cwd, ['retention', 'list', '--data-dir', 'a.txt']), { code: 1, stderr: /a\.txt/ })
  },
)
