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

t.test('openGeojson: a file that holds no FeatureCollection is refused by its name', async (t) => {
  for (const text of ['{"type":"Feature"}', '[]', '{"features":{}}']) {
    const refused = opened(t, text)
    await t.rejects(refused, { message: /x\.geojson is not a GeoJSON FeatureCollection$/ }, text)
  }
  await t.rejects(opened(t, ''), SyntaxError)
  await t.rejects(opened(t, 'type,features'), SyntaxError)
})

t.test('openGeojson: a described column of an unknown type is refused with its name', async (t) => {
  const citation = { columns: [{ column_name: 'k', data_type: 'uuid', nullable: true }], key_columns: [] }
  await t.rejects(opened(t, collection({ citation })), {
    message: 'the column k has the unknown type uuid',
  })
})
