import path from 'node:path'
import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { Geometry } from '../../../../src/geo/types.js'
import { createDatasetTables, withDatasets } from '../../../../src/storage/sqlite/datasets/table-reader.js'
import type { TableQuery, TableReader, TableRow } from '../../../../src/storage/tables.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { NOW_US, openTables, TIME_ZONE_MIN } from '../../../support/tables.js'

const area = (...ring: [number, number][]) => prepareArea({ type: 'Polygon', coordinates: [ring] })
const TRIANGLE = area([0, 0], [10, 0], [0, 10], [0, 0])

async function rowsOf(tables: TableReader, name: string, query: TableQuery = {}): Promise<TableRow[]> {
  const table = await tables.find(name)
  if (table === undefined) throw new Error(`no table ${name}`)
  const rows: TableRow[] = []
  for await (const page of tables.pages(table, query)) rows.push(...page)
  return rows
}

async function filled(t: { testdir(): string; teardown(work: () => unknown): unknown }) {
  const opened = openDatasets(`${t.testdir()}/data.db`)
  t.teardown(() => opened.close())
  const { store, data } = opened
  await store.create(definition('bare', columns('k int')))
  await store.create(
    definition(
      'd',
      columns(
        'k int',
        'place geometry?',
        'exact numeric?',
        'start_datetime timestamptz?',
        'end_datetime timestamptz?',
      ),
      ['k'],
    ),
  )
  const day = (n: number) => `2025-01-0${n} 00:00:00+09`
  await store.put(
    'd',
    [
      [1, 'POINT(1 1)', '1.50', day(1), day(2)],
      [2, 'POINT(9 9)', null, day(2), day(3)], // in the triangle's box, not in the triangle
      [3, 'LINESTRING(20 20, 3 3)', null, null, null],
      [4, null, null, day(3), day(3)],
    ],
    'error',
  )
  const tables = createDatasetTables(data.reader, {
    timeZoneMin: TIME_ZONE_MIN,
    pageRows: 2,
    nowUs: () => NOW_US,
  })
  return { ...opened, tables }
}

t.test('dataset tables: only datasets with geometry, by each of their names', async (t) => {
  const { tables, store } = await filled(t)
  const [, info] = await store.list({})
  t.same(
    (await tables.list()).map(({ dataName }) => dataName),
    ['d'],
  )
  t.equal(await tables.find('bare'), undefined)
  for (const name of ['d', 'ddc:d', info?.longForm, info?.realname]) {
    const table = await tables.find(name ?? '')
    t.equal(`${table?.schema}.${table?.tableName}`, info?.realname)
  }
  t.same(
    (await tables.find('d'))?.columns.map(({ udtName }) => udtName),
    ['int4', 'geometry', 'text', 'timestamptz', 'timestamptz'],
  )
})

t.test(
  'dataset tables: current rows that intersect an area exactly, the geometry beside the properties',
  async (t) => {
    const { tables, store } = await filled(t)
    const found = await rowsOf(tables, 'd', { area: TRIANGLE, columns: ['exact', 'k', 'start_datetime'] })
    t.strictSame(found, [
      {
        rowId: 1,
        geometry: { type: 'Point', coordinates: [1, 1] },
        properties: { exact: '1.50', k: 1, start_datetime: '2025-01-01T00:00:00+09:00' },
      },
      {
        rowId: 3,
        geometry: {
          type: 'LineString',
          coordinates: [
            [20, 20],
            [3, 3],
          ],
        } as Geometry,
        properties: { exact: null, k: 3, start_datetime: null },
      },
    ])
    await store.put('d', [[1, 'POINT(50 50)', null, null, null]], 'update')
    await store.deleteRecords('d', { '=': ['k', 3] })
    t.same(await rowsOf(tables, 'd', { area: TRIANGLE }), [])
    t.same(
      (await rowsOf(tables, 'd', { order: '-k', limit: 2, offset: 1 })).map(({ rowId }) => rowId),
      [2, 1],
    )
    const empty = prepareArea({ type: 'GeometryCollection', geometries: [] })
    t.same(await rowsOf(tables, 'd', { area: empty }), [])
  },
)

t.test('dataset tables: a period is compared with start_datetime and end_datetime', async (t) => {
  const { tables } = await filled(t)
  const us = (day: number) => BigInt(Date.UTC(2025, 0, day, -9)) * 1000n
  const keys = async (from: number, until: number) =>
    (await rowsOf(tables, 'd', { span: { fromUs: us(from), untilUs: us(until) } })).map(
      ({ properties }) => properties.k,
    )
  t.same(await keys(1, 2), [1, 3])
  t.same(await keys(2, 3), [2, 3])
  t.same(await keys(3, 4), [3, 4])
  t.same(await keys(5, 6), [3], 'null is without bound')
})

t.test(
  'dataset tables: the version grows with each change; conditions are refused with their place',
  async (t) => {
    const { tables, store } = await filled(t)
    const table = await tables.find('d')
    if (table === undefined) throw new Error('no table')
    const before = await tables.dataVersion(table)
    t.equal(await store.put('d', [[9, null, null, null, null]], 'error'), 1)
    t.ok((await tables.dataVersion(table)) > before)
    await rejectsWith(t, rowsOf(tables, 'd', { conds: { '=': ['x', 1] } }), 'BAD_CONDITION', {
      message: /\$\.properties\.conds/,
    })
    const pages = tables.pages(table, {})
    await pages.next()
    await store.remove('d')
    await rejectsWith(t, pages.next(), 'UNKNOWN_DATASET')
  },
)

t.test('dataset tables: loader tables come first, datasets behind them', async (t) => {
  const { tables, store } = await filled(t)
  const loader = openTables()
  t.teardown(() => loader.data.close())
  const table = loader.register('d', [{ name: 'n', udtName: 'int4', isNullable: true }], ['n'])
  await loader.put(table, [{ type: 'Feature', geometry: null, properties: { n: 7 } }])
  const both = withDatasets(loader.reader, tables)
  t.match((await rowsOf(both, 'd'))[0]?.properties, { n: 7 })
  const [, info] = await store.list({})
  t.equal((await rowsOf(both, info?.realname ?? '')).length, 4)
  t.equal((await both.list()).length, 2)
  t.not(
    await both.dataVersion(table),
    await both.dataVersion((await both.find(info?.realname ?? '')) ?? table),
  )
})

t.test('dataset tables: a dataset that was removed has the version -1', async (t) => {
  const { store, data, close } = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns('g geometry')))
  const reader = createDatasetTables(data.reader, { timeZoneMin: 0, pageRows: 5, nowUs: () => 0 })
  const table = await reader.find('d')
  if (table === undefined) throw new Error('no table')
  t.ok((await reader.dataVersion(table)) > 0)
  await store.remove('d')
  t.equal(await reader.dataVersion(table), -1)
})
