import t from 'tap'
import { prepareArea } from '../../../src/geo/prepared-area.js'
import { allRecords, columns, definition, openDatasets } from '../../support/datasets.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature, openTables } from '../../support/tables.js'

t.test('cost of a condition: terms × pattern × text, before it runs', async (t) => {
  const tables = openTables()
  const table = tables.register('texts', [{ name: 'n', udtName: 'int4' }, { name: 'note' }], ['n'])
  await tables.put(
    table,
    [0, 1].map((n) => feature(null, { n, note: 'a'.repeat(100_000) })),
  )
  const costly = { like: ['note', `%${'a'.repeat(9000)}_b%`] }
  await rejectsWith(
    t,
    tables.read(table, { conds: { not: { or: [costly, { is_null: ['n'] }] } } }),
    'TOO_EXPENSIVE',
    {
      message:
        /at \$\.properties\.conds: found about 18\d{8} comparisons of characters and positions, expected at most 1000000000/,
      data: { path: '$.properties.conds', limit: 1_000_000_000 },
    },
  )
  await rejectsWith(t, tables.reader.count(table, { conds: costly }), 'TOO_EXPENSIVE')
  const plain = { like: ['note', `%${'a'.repeat(9000)}b%`] }
  t.same(
    await tables.read(table, { conds: { and: [plain, plain] } }),
    [],
    'text without _ is searched in one pass',
  )
  t.same(
    await tables.read(table, { conds: { and: [{ '=': ['n', 5] }, costly] } }),
    [],
    'a key leaves few rows',
  )
  t.equal(
    (await tables.read(table, { conds: { like: ['note', `${'_'.repeat(9000)}%`] } })).length,
    2,
    'one place',
  )
})

const PLACE = { type: 'Point', coordinates: [10, 20] } as const
const square = (west: number, side: number) => ({
  type: 'Polygon' as const,
  coordinates: [
    [
      [west, -side],
      [west + side, -side],
      [west + side, side],
      [west, side],
      [west, -side],
    ] as [number, number][],
  ],
})

t.test('cost of a condition: a key or an area counts for as much as it narrows', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'places',
    [{ name: 'station' }, { name: 'n', udtName: 'int4' }, { name: 'note' }],
    ['station', 'n'],
  )
  const note = 'a'.repeat(100_000)
  await tables.put(table, [
    ...[0, 1].map((n) => feature(PLACE, { station: 'a', n, note })),
    feature({ type: 'Point', coordinates: [100, 20] }, { station: 'b', n: 0, note: 'b' }),
  ])
  const costly = { like: ['note', `%${'a'.repeat(9000)}_b%`] }
  const refused = { message: /^Too expensive at \$\.properties\.conds: found about 12\d{8} comparisons/ }
  const wide = { and: [{ '=': ['station', 'a'] }, costly] }
  await rejectsWith(t, tables.read(table, { conds: wide }), 'TOO_EXPENSIVE', refused)
  t.same(await tables.read(table, { conds: { and: [{ '=': ['station', 'c'] }, costly] } }), [])
  const here = prepareArea(square(0, 50))
  await rejectsWith(t, tables.read(table, { conds: costly, area: here }), 'TOO_EXPENSIVE')
  t.same(await tables.read(table, { conds: costly, area: prepareArea(square(50, 5)) }), [])
  await rejectsWith(t, tables.read(table, { conds: wide, area: here }), 'TOO_EXPENSIVE')
})

t.test('cost of a condition: areas count by the size of the geometries', async (t) => {
  const tables = openTables()
  const table = tables.register('lines', [{ name: 'n', udtName: 'int4' }], ['n'])
  const coordinates = Array.from({ length: 20_000 }, (_, at): [number, number] => [at * 1e-5, 0])
  await tables.put(
    table,
    [0, 1].map((n) => feature({ type: 'LineString', coordinates }, { n })),
  )
  const areas = (count: number) => ({
    or: Array.from({ length: count }, (_, at) => ({ intersects: ['location', square(at * 0.01 + 1, 1)] })),
  })
  await rejectsWith(t, tables.read(table, { conds: areas(900) }), 'TOO_EXPENSIVE', {
    message: /found about 2\d{9} comparisons of characters and positions, .* name fewer areas/,
  })
  t.same(await tables.read(table, { conds: areas(100) }), [])
})

t.test('cost of a condition: datasets and citations', async (t) => {
  const { store, close } = openDatasets()
  t.teardown(close)
  await store.create(definition('d', columns('k int', 'note text'), ['k']))
  const note = 'a'.repeat(100_000)
  await store.put(
    'd',
    [1, 2].map((k) => [k, note]),
    'error',
  )
  await store.cite('c', 'd')
  const costly = { like: ['note', `%${'a'.repeat(9000)}_b%`] }
  const refused = { message: /^Too expensive at \$\.condition: found about 18\d{8} comparisons/ }
  await rejectsWith(t, allRecords(store, 'c', { conds: costly }), 'TOO_EXPENSIVE', refused)
  t.same(await allRecords(store, 'c', { conds: { and: [{ '=': ['k', 5] }, costly] } }), [])
  await rejectsWith(t, store.deleteRecords('d', costly), 'TOO_EXPENSIVE', refused)
  t.equal((await allRecords(store, 'c')).length, 2)
})
