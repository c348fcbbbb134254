import t from 'tap'
import { createColumnCollector } from '../../src/tabular/columns.js'
import { columnName, tableNameOf } from '../../src/tabular/names.js'
import { keyCandidates, proposePlan } from '../../src/tabular/plan.js'
import { recordOf } from '../../src/tabular/record.js'
import type { FileRow } from '../../src/tabular/row-file.js'
import { readTime, timeValue } from '../../src/tabular/times.js'

/** Rows of columns, each a list of values. */
function rowsOf(columns: Record<string, readonly unknown[]>): FileRow[] {
  const count = Object.values(columns)[0]?.length ?? 0
  return Array.from({ length: count }, (_, at) => ({
    place: at + 2,
    values: Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[at]])),
  }))
}

function factsOf(rows: readonly FileRow[], hasComma = false) {
  const collector = createColumnCollector(hasComma)
  collector.add(rows)
  return collector.columns()
}

t.test('columns: the narrowest kind that all values have', async (t) => {
  const rows = rowsOf({
    whole: ['1', '-2', null],
    big: [1, 2 ** 60, 3],
    decimal: ['1.5', '2', '.5e3'],
    zeros: ['007', '8', '9'],
    flag: ['true', 'FALSE', true],
    day: ['2026-01-31', '2026-02-01', null],
    time: ['2026-01-31T10:00Z', '2026-01-31', '2026-01-31 10:00:00.5+09'],
    slash: ['2026/1/31 9:05', '2026/2/1', '2026/12/31'],
    us: ['1/31/2026', '2/1/2026', '2/2/2026'],
    no_day: ['2026-02-30', '2026-01-01', '2026-01-02'],
    mixed: ['1', 'a', null],
    none: [null, '', undefined],
    deep: [{ a: 1 }, [1], null],
  })
  const kinds = Object.fromEntries(factsOf(rows).map(({ source, kind }) => [source, kind]))
  t.same(kinds, {
    ...{ whole: 'int8', big: 'float8', decimal: 'float8', zeros: 'text', flag: 'bool', day: 'date' },
    ...{ time: 'timestamptz', slash: 'timestamptz', us: 'text', no_day: 'text', mixed: 'text', none: 'text' },
    deep: 'text',
  })
})

t.test('columns: decimal commas where the separator is another; a rare odd value is told', async (t) => {
  const [a, b] = factsOf(rowsOf({ a: ['1,5', '2', '-0,25'], b: ['1,5', '2.5', '3'] }), true)
  t.match(a, { kind: 'float8', hasComma: true, range: [-0.25, 2] })
  t.match(b, { kind: 'text' }, 'both forms in one column')
  t.match(factsOf(rowsOf({ a: ['1,5', '2'] })), [{ kind: 'text' }])
  const values = Array.from({ length: 30 }, (_, at) => (at === 20 || at === 25 ? 'n/a' : String(at)))
  t.match(factsOf(rowsOf({ v: values })), [{ kind: 'text', odd: { place: 22, text: 'n/a', count: 2 } }])
})

t.test('plan: time, place, names and candidates for the key', async (t) => {
  const rows = rowsOf({
    Station: ['a', 'a', 'b', 'b'],
    'Level (m)': ['1,5', '2', '3', '4'],
    Time: ['2026-01-31 10:00', '2026-01-31 11:00', '2026-01-31 10:00', '2026-01-31 11:00'],
    LAT: ['38,5', '38,6', '38', '39'],
    Lon: ['-9,1', '-9,2', '-9', '-8'],
  })
  const facts = factsOf(rows, true)
  const plan = proposePlan(facts, false)
  t.same(plan.start, { source: 'Time', form: 'iso' })
  t.same(plan.place, { kind: 'degrees', lng: 'Lon', lat: 'LAT' })
  t.same(
    plan.columns.map(({ name, kind }) => [name, kind]),
    [
      ['Station', 'text'],
      ['Level_m', 'float8'],
    ],
  )
  t.same(keyCandidates(plan, facts, 4)[0], ['Station', 'start_datetime'])
  t.same(recordOf(plan, rows[0] as FileRow), {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [-9.1, 38.5] },
    properties: { start_datetime: '2026-01-31 10:00', Station: 'a', Level_m: 1.5 },
  })
})

t.test('plan: an id comes first; numbers since 1970; metres are no degrees; WKT is a place', async (t) => {
  const rows = rowsOf({
    ...{ id: [7, 8], created_at: [1_767_225_600, 1_767_229_200], x: [500_000, 500_100], y: [4e6, 4e6] },
    ...{
      wkt: ['POINT (1 2)', '{"type":"Point","coordinates":[3,4]}'],
      long_id: ['9223372036854775807', '1'],
    },
  })
  const facts = factsOf(rows)
  const plan = proposePlan(facts, false)
  t.same(plan.start, { source: 'created_at', form: 'seconds' })
  t.same(plan.place, { kind: 'text', source: 'wkt' })
  t.same(keyCandidates(plan, facts, 2)[0], ['id'])
  const { geometry, properties } = recordOf(plan, rows[0] as FileRow)
  t.same(geometry, { type: 'Point', coordinates: [1, 2] })
  t.match(properties, { start_datetime: '2026-01-01T00:00:00.000Z', x: 500_000 })
})

t.test('record: values that do not fit are left for the gateway to refuse', async (t) => {
  const facts = factsOf(
    rowsOf({ n: ['1'], f: ['true'], big: ['123456789012345678'], lng: ['1'], lat: ['2'] }),
  )
  const plan = proposePlan(facts, false)
  const { properties, geometry } = recordOf(plan, {
    place: 2,
    values: { n: '1,5', f: 'yes', big: '123456789012345678', lng: '', lat: 'north' },
  })
  t.same(properties, { n: '1,5', f: 'yes', big: '123456789012345678' })
  t.same(geometry, { type: 'Point', coordinates: ['', 'north'] })
  t.same(recordOf(plan, { place: 3, values: { lng: '', lat: null } }).geometry, null)
})

t.test('names: of columns and tables', async (t) => {
  const taken = new Set<string>()
  t.same(
    ['Água (°C)', 'agua', 'AGUA', 'location', '...', ' x y '].map((name) => columnName(name, taken)),
    ['Água_C', 'agua', 'AGUA_2', 'location_2', 'column', 'x_y'],
  )
  t.equal(tableNameOf('C:\\data\\Rain 2026.csv.gz'), 'Rain_2026')
  t.equal(tableNameOf('sqlite_x.csv'), 't_sqlite_x')
  t.equal(tableNameOf('観測.zip'), '観測')
})

t.test('times: what is no time is none', async (t) => {
  for (const text of [
    '2026-1-31',
    '2026-01-31T25:00',
    '2026-01-31 10',
    '31/01/2026',
    '20260131',
    '2026-13-01',
  ])
    t.equal(readTime(text), undefined, text)
  t.equal(readTime('2026/1/31 9:05')?.text, '2026-01-31 09:05')
  t.equal(timeValue('1767225600000', 'milliseconds'), '2026-01-01T00:00:00.000Z')
  t.equal(timeValue('soon', 'seconds'), 'soon')
  t.equal(timeValue('', 'iso'), null)
  t.equal(timeValue(5, 'iso'), 5)
})
