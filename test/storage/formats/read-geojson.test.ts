import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { stateColumn } from '../../../src/storage/columns/state-column.js'
import type { ImportFile } from '../../../src/storage/formats/import-file.js'
import { openGeojson } from '../../../src/storage/formats/read-geojson.js'
import { columns } from '../../support/datasets.js'

const POINT = { type: 'Point', coordinates: [1, 2] }
const COLUMNS = columns('k int', 'g geometry?', 'v text?')
const CITATION = {
  columns: [
    { column_name: 'k', data_type: 'integer', nullable: false },
    { column_name: 'g', data_type: 'geometry', nullable: true },
    { column_name: 'v', data_type: 'text', nullable: true },
  ],
  key_columns: ['k'],
}

async function opened(t: Test, text: string): Promise<ImportFile> {
  const file = path.join(t.testdir(), 'x.geojson')
  writeFileSync(file, text)
  const importFile = await openGeojson(file)
  t.teardown(() => importFile.close())
  return importFile
}

async function recordsOf(file: ImportFile, described = COLUMNS): Promise<unknown[][]> {
  const records: unknown[][] = []
  for await (const record of file.records(described.map(stateColumn))) records.push(record)
  return records
}

const collection = (members: object, ...features: unknown[]) =>
  JSON.stringify({ type: 'FeatureCollection', ...members, features })

/** A file as `cite export` writes it: one Feature a line. */
const byLine = (head: string, ...lines: string[]) => [`${head},"features":[`, ...lines].join('\n')

t.test('openGeojson: a file of another program is read whole and describes no columns', async (t) => {
  const file = await opened(
    t,
    collection(
      { name: 'places' },
      { type: 'Feature', geometry: POINT, properties: { v: 'a', k: 1, other: true } },
      { type: 'Feature', geometry: null, properties: null },
      { type: 'Feature', properties: { k: 3, g: 'not the geometry' } },
    ),
  )
  t.equal(file.columns, undefined)
  t.same(file.keyColumns, [])
  t.same(await recordsOf(file), [
    [1, POINT, 'a'],
    [null, null, null],
    [3, null, null],
  ])
})

t.test('openGeojson: columns and key are those that the file describes, read whole or by line', async (t) => {
  const feature = { type: 'Feature', geometry: POINT, properties: { k: 1, v: null } }
  const head = `{"type":"FeatureCollection","citation":${JSON.stringify(CITATION)}`
  for (const text of [
    collection({ citation: CITATION }, feature),
    byLine(head, JSON.stringify(feature), ']}'),
  ]) {
    const file = await opened(t, text)
    t.same(file.columns, COLUMNS)
    t.same(file.keyColumns, ['k'])
    t.same(await recordsOf(file), [[1, POINT, null]])
  }
})

t.test('openGeojson: a column named like a member of every object is read from the file alone', async (t) => {
  const properties = JSON.parse('{"__proto__":"own","k":1}')
  const file = await opened(t, collection({}, { type: 'Feature', geometry: null, properties }))
  t.same(await recordsOf(file, columns('constructor text?', '__proto__ text?')), [[null, 'own']])
})

t.test('openGeojson: by line, the records are read again at each call, whatever the line ends', async (t) => {
  const lines = [1, 2, 3].map((k) => JSON.stringify({ type: 'Feature', geometry: null, properties: { k } }))
  for (const end of ['\n', '\r\n']) {
    const text = byLine(
      '{"type":"FeatureCollection"',
      `${lines[0]},`,
      `${lines[1]},`,
      '',
      `${lines[2]}`,
      ']}',
    )
    const file = await opened(t, text.replaceAll('\n', end))
    const expected = [1, 2, 3].map((k) => [k, null, null])
    t.same(await recordsOf(file), expected)
    t.same(await recordsOf(file), expected)
  }
})

/** Returns what is refused, behind the name of the file. */
async function refusalOf(t: Test, text: string): Promise<string> {
  try {
    await recordsOf(await opened(t, text))
    return 'accepted'
  } catch (error) {
    t.notMatch(error, TypeError)
    return String(error).replace(/^Error: .*x\.geojson/, '')
  }
}

t.test('openGeojson: a file that holds no FeatureCollection is refused by its name', async (t) => {
  const features = ', expected the array of Features of a FeatureCollection'
  for (const [text, message] of [
    ['{"type":"Feature"}', `, features: found nothing${features}`],
    ['{"features":{}}', `, features: found {}${features}`],
    ['[]', ': found [], expected a GeoJSON FeatureCollection'],
    ['null', ': found null, expected a GeoJSON FeatureCollection'],
    ['', ': found no JSON (Unexpected end of JSON input), expected a GeoJSON FeatureCollection'],
  ] as const)
    t.equal(await refusalOf(t, text), message, text)
  const words = await refusalOf(t, 'type,\nfeatures')
  t.match(
    words,
    /^: found no JSON \(Unexpected token .*\), expected a GeoJSON FeatureCollection$/,
    'one line',
  )
})

t.test('openGeojson: a member `citation` of another program describes no columns', async (t) => {
  const feature = { type: 'Feature', geometry: null, properties: { k: 1 } }
  for (const citation of [null, 'Doe 2020', 7, [{ columns: [] }], {}, { title: 'Roads' }]) {
    const file = await opened(t, collection({ citation }, feature))
    t.equal(file.columns, undefined)
    t.same(file.keyColumns, [])
    t.same(await recordsOf(file), [[1, null, null]])
  }
})

t.test('openGeojson: a malformed description of columns is refused with its place', async (t) => {
  const [k] = CITATION.columns
  for (const [citation, message] of [
    [{ columns: 'k' }, '.columns: found "k", expected an array of columns'],
    [{ columns: [k, null] }, '.columns[1]: found null, expected an object that describes a column'],
    [{ columns: [{}] }, '.columns[0].column_name: found nothing, expected a text'],
    [{ columns: [{ ...k, nullable: 1 }] }, '.columns[0].nullable: found 1, expected true or false'],
    [
      { columns: [{ ...k, data_type: 4 }] },
      '.columns[0].data_type: found 4, expected a type that dataset.create takes',
    ],
    [
      { columns: [{ ...k, data_type: 'uuid' }] },
      '.columns[0].data_type: found "uuid", expected a type that dataset.create takes',
    ],
    [{ columns: [k], key_columns: 'k' }, '.key_columns: found "k", expected an array of names of columns'],
    [{ columns: [k], key_columns: [1] }, '.key_columns: found [1], expected an array of names of columns'],
  ] as const) {
    t.equal(await refusalOf(t, collection({ citation })), `, citation${message}`)
    const head = `{"type":"FeatureCollection","citation":${JSON.stringify(citation)}`
    t.equal(await refusalOf(t, byLine(head, ']}')), `, citation${message}`, 'by line')
  }
})

t.test('openGeojson: a malformed Feature is refused with its place; absent members are null', async (t) => {
  const good = { type: 'Feature' }
  t.same(await recordsOf(await opened(t, collection({}, good))), [[null, null, null]])
  for (const [feature, message] of [
    [null, ': found null, expected a Feature'],
    [[], ': found [], expected a Feature'],
    [POINT, ', type: found "Point", expected "Feature"'],
    [{ ...good, properties: 'k' }, ', properties: found "k", expected an object or null'],
    [{ ...good, properties: [1] }, ', properties: found [1], expected an object or null'],
  ] as const) {
    t.equal(await refusalOf(t, collection({}, good, feature)), `, features[1]${message}`)
    const lines = byLine(
      '{"type":"FeatureCollection"',
      `${JSON.stringify(good)},`,
      JSON.stringify(feature),
      ']}',
    )
    t.equal(await refusalOf(t, lines), `, line 3${message}`)
  }
})

t.test('openGeojson: a file by line that is cut off or goes on is refused with the line', async (t) => {
  const head = '{"type":"FeatureCollection"'
  const feature = '{"type":"Feature","properties":{"k":1}}'
  t.equal(await refusalOf(t, byLine(head, feature, ']}', '')), 'accepted')
  t.equal(
    await refusalOf(t, byLine(head, `${feature},`)),
    ': found its end after line 2, expected a last line ]}',
  )
  t.equal(
    await refusalOf(t, byLine(head, feature, ']}', feature)),
    `, line 4: found ${JSON.stringify(feature)}, expected nothing after the end of the collection`,
  )
  t.match(
    await refusalOf(t, byLine(head, `${feature},`, feature.slice(0, 30))),
    /^, line 3: found no JSON \(.+\), expected one Feature$/,
  )
})

t.test('openGeojson: a byte order mark is skipped, read whole or by line', async (t) => {
  const feature = '{"type":"Feature","properties":{"k":1}}'
  for (const text of [`{"features":[${feature}]}`, byLine('{"type":"FeatureCollection"', feature, ']}')])
    t.same(await recordsOf(await opened(t, `\uFEFF${text}`)), [[1, null, null]])
})
