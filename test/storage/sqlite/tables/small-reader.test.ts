import path from 'node:path'
import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { openSmallReader } from '../../../../src/storage/sqlite/tables/small-reader.js'
import type { Column, TableQuery } from '../../../../src/storage/tables.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, NOW_US, openTables, TIME_ZONE_MIN } from '../../../support/tables.js'

async function opened(t: { testdir(): string; teardown(work: () => unknown): unknown }) {
  const file = path.join(t.testdir(), 'data.db')
  const tables = openTables(file)
  const table = tables.register('places', [{ name: 'n', udtName: 'int4' }, { name: 'note' }], ['n'])
  const notes = Array.from({ length: 1200 }, (_, n) => (n === 600 ? 'x'.repeat(20_000) : `note ${n}`))
  await tables.put(
    table,
    notes.map((note, n) => feature([139 + n / 1000, 35], { n, note })),
  )
  const clock = { ms: 0, step: 0 }
  const small = openSmallReader(file, {
    timeZoneMin: TIME_ZONE_MIN,
    pageRows: 100,
    keyring: createKeyring(new Uint8Array(32)),
    nowUs: () => NOW_US,
    nowMs: () => (clock.ms += clock.step),
    readFile: async () => new Uint8Array(),
  })
  t.teardown(() => {
    small.close()
    tables.data.close()
  })
  const numbers = async (query: TableQuery) =>
    (await small.read('places', query))?.rows.map(({ properties }) => properties.n)
  return { tables, small, numbers, clock }
}

t.test('small reads: a key, a limit and an area are answered as the reader of tables does', async (t) => {
  const { tables, small, numbers } = await opened(t)
  const point = prepareArea({ type: 'Point', coordinates: [139.007, 35] })
  const queries: TableQuery[] = [
    { conds: { '=': ['n', 7] } },
    { conds: {}, limit: 3, offset: 2, columns: ['n'] },
    { area: point },
    { limit: 0 },
  ]
  for (const query of queries) {
    const table = await tables.reader.find('places')
    if (table === undefined) throw new Error('no table')
    const found = await small.read('places', query)
    if (found?.rows.length === 0) t.same(await numbers(query), [])
    t.same(found?.rows, await tables.read(table, query))
    t.equal(found?.table.dataName, 'places')
  }
})

t.test('small reads: what may take long, or has a large value, is left to others', async (t) => {
  const { small, numbers, clock } = await opened(t)
  const like = { like: ['note', '%1%'] }
  const queries: TableQuery[] = [
    {},
    { limit: 1001 },
    { limit: 5, order: 'n' },
    { limit: 5, offset: 1001 },
    { conds: like },
    { conds: { and: [{ '=': ['n', 1] }, like] } },
    { conds: { '=': ['note', 'note 1'] } },
    { conds: { '=': ['n', 600] } },
    {
      area: prepareArea({
        type: 'LineString',
        coordinates: [
          [138, 35],
          [141, 35],
        ],
      }),
    },
  ]
  for (const query of queries) t.equal(await numbers(query), undefined, JSON.stringify(query.conds ?? query))
  t.equal(await small.read('nothing', { limit: 1 }), undefined)
  t.same(await numbers({ conds: { '=': ['n', 600] }, columns: ['n'] }), [600], 'the large column is not read')
  clock.step = 4
  t.equal(await numbers({ limit: 500 }), undefined, 'it takes long')
  clock.step = 0
  await rejectsWith(t, small.read('places', { conds: { '=': ['n', 'x'] } }), 'BAD_CONDITION')
  t.same(await numbers({ conds: { '=': ['n', 7] } }), [7], 'connections are given back after each')
})

t.test('small reads: an area with more rows than an answer may have is left to others', async (t) => {
  const { numbers } = await opened(t)
  const along = (east: number) =>
    prepareArea({
      type: 'LineString',
      coordinates: [
        [138, 35],
        [east, 35],
      ],
    })
  t.equal((await numbers({ area: along(139.9005), columns: ['n'] }))?.length, 901)
  t.equal(await numbers({ area: along(141), columns: ['n'] }), undefined)
})

t.test('small reads: a read that finds no free connection is left to others', async (t) => {
  const { numbers } = await opened(t)
  const query = { limit: 600, columns: ['n'] }
  const found = await Promise.all([numbers(query), numbers(query), numbers(query)])
  t.same(
    found.map((rows) => rows !== undefined),
    [true, true, false],
  )
  t.same(
    (await Promise.all([numbers(query), numbers(query)])).map((rows) => rows?.length),
    [600, 600],
    'both connections are free again',
  )
})

t.test('small reads: the event loop turns while one is made', async (t) => {
  const { numbers, clock } = await opened(t)
  clock.step = 1
  const seen: string[] = []
  setImmediate(() => seen.push('turn'))
  const found = await numbers({ limit: 600 })
  seen.push('answer')
  t.equal(found?.length, 600)
  t.same(seen, ['turn', 'answer'])
})

t.test(
  'small reads: numbers of any size, NaN and infinities are read as the reader of tables does',
  async (t) => {
    const { tables, small } = await opened(t)
    const columns: Partial<Column>[] = [
      { name: 'n', udtName: 'int8' },
      { name: 'x', udtName: 'float8' },
    ]
    const table = tables.register('numbers', columns, ['n'])
    const values = [0.1, -1.7976931348623157e308, 'NaN', 'Infinity', null]
    const rows = values.map((x, at) =>
      feature([139, 35], { n: `${9_007_199_254_740_990n + BigInt(at)}`, x, end_datetime: 'infinity' }),
    )
    await tables.put(table, rows)
    const area = prepareArea({ type: 'Point', coordinates: [139, 35] })
    for (const query of [{ area }, { area }, { area, columns: ['x', 'n'] }]) {
      const found = await small.read('numbers', query)
      t.equal(found?.rows.length, values.length)
      t.same(found?.rows, await tables.read(table, query))
    }
  },
)
