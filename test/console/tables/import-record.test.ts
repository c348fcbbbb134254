import t from 'tap'
import { placeOfFault, recordOf } from '../../../src/console/tables/import-record.js'
import { readFeatures } from '../../../src/console/tables/read-file.js'

const TIME = '2026-01-02T00:00:00.000Z'
const START = '2026-01-01T00:00:00Z'

function propertiesOf(properties: Record<string, unknown> | null, time: string | null = TIME) {
  return recordOf({ type: 'Feature', geometry: null, properties }, time).properties
}

t.test('recordOf: the end of a record with a start only is null, not the time of the form', async (t) => {
  t.same(propertiesOf({ start_datetime: START, a: 1 }), { start_datetime: START, end_datetime: null, a: 1 })
  t.same(propertiesOf({ start_datetime: START, end_datetime: null }), {
    start_datetime: START,
    end_datetime: null,
  })
  t.same(propertiesOf({ end_datetime: START }), { start_datetime: null, end_datetime: START })
})

t.test('recordOf: a record without any time gets the time of the form', async (t) => {
  const both = { start_datetime: TIME, end_datetime: TIME }
  t.same(propertiesOf({ a: 1 }), { ...both, a: 1 })
  t.same(propertiesOf({ start_datetime: null, end_datetime: null }), both)
  t.same(propertiesOf(null), both)
})

t.test('recordOf: a record without any time has none when the form has none', async (t) => {
  const none = { start_datetime: null, end_datetime: null }
  t.same(propertiesOf({ a: 1 }, null), { ...none, a: 1 })
  t.same(propertiesOf({ start_datetime: START }, null), { ...none, start_datetime: START })
})

t.test('placeOfFault: lines of the file, also in later parts and after line breaks in cells', async (t) => {
  const csv = 'name,lng,lat\n"two\nlines",1,2\nb,3,4\n\nc,5,6\n'
  const { features, lines } = readFeatures('x.csv', csv.replace('\n\n', '\n'))
  t.equal(features.length, 3)
  t.same(lines, [2, 4, 5])
  t.same(placeOfFault({ line: 1 }, 2, lines), { line: 5 }, 'first record of the second part')
  const ndjson = '{"type":"Feature"}\n\n{"type":"Feature"}\n'
  t.same(placeOfFault({ line: 2 }, 0, readFeatures('x.ndjson', ndjson).lines), { line: 3 })
})

t.test('placeOfFault: the record of a FeatureCollection, none without a line', async (t) => {
  const { lines } = readFeatures('x.geojson', '{"type":"FeatureCollection","features":[{},{}]}')
  t.same(placeOfFault({ line: 2 }, 2000, lines), { record: 2002 })
  t.equal(placeOfFault({ column: 'a' }, 0, lines), undefined)
})
