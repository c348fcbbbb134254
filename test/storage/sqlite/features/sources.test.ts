import path from 'node:path'
import t, { type Test } from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { FeatureQuery, FeatureSource } from '../../../../src/storage/features.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { createFeatureSources } from '../../../../src/storage/sqlite/features/sources.js'
import type { TableRow } from '../../../../src/storage/tables.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { feature, NOW_US, openTables, TIME_ZONE_MIN } from '../../../support/tables.js'

function opened(t: Test) {
  const file = path.join(t.testdir(), 'data.db')
  const tables = openTables(file)
  const datasets = openDatasets(file)
  t.teardown(async () => {
    await datasets.close()
    tables.data.close()
  })
  const sources = createFeatureSources(datasets.data.reader, {
    tables: tables.reader,
    timeZoneMin: TIME_ZONE_MIN,
    pageRows: 3,
    keyring: createKeyring(new Uint8Array(32).fill(7)),
    isOpen: false,
    nowUs: () => NOW_US,
  })
  return { tables, datasets, store: datasets.store, sources }
}

async function rowsOf(source: FeatureSource | undefined, query: FeatureQuery = {}): Promise<TableRow[]> {
  const rows: TableRow[] = []
  for await (const page of source?.pages(query, undefined) ?? []) rows.push(...page)
  return rows
}

t.test('feature sources: a collection has one name; other spellings of it find nothing', async (t) => {
  const { tables, store, sources } = opened(t)
  tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  const { longForm } = await store.create(definition('d', columns('k int')))
  const cited = await store.cite('c', 'd')
  t.equal((await sources.find('table', 'events'))?.name, 'events')
  t.equal(await sources.find('table', 'ddc:events'), undefined)
  t.equal((await sources.find('dataset', 'd'))?.name, 'd')
  t.equal(await sources.find('dataset', longForm), undefined)
  t.equal((await sources.find('citation', cited.longForm))?.name, cited.longForm)
  t.equal(await sources.find('citation', 'c'), undefined)
  for (const kind of ['table', 'dataset', 'citation'] as const) {
    t.equal(await sources.find(kind, 'none'), undefined)
    t.equal((await sources.list(kind)).length, 1, kind)
  }
})

t.test(
  'feature sources: a period needs both columns as instants; without it a span excludes nothing',
  async (t) => {
    const { store, sources } = opened(t)
    const span = { fromUs: 0n, untilUs: 1n }
    await store.create(
      definition('dated', columns('start_datetime timestamptz?', 'end_datetime timestamptz?')),
    )
    await store.create(definition('texts', columns('start_datetime text?', 'end_datetime timestamptz?')))
    for (const name of ['dated', 'texts']) {
      await store.put(name, [['2025-01-01T00:00:00Z', '2025-01-02T00:00:00Z']], 'error')
      const source = await sources.find('dataset', name)
      t.equal(source?.hasPeriod, name === 'dated', name)
      t.equal(source?.hasGeometry, false)
      t.same(await source?.extent(), { bbox: undefined, interval: undefined })
      t.equal((await rowsOf(source, { span })).length, name === 'dated' ? 0 : 1, name)
      t.equal(await source?.count({ span }, undefined), name === 'dated' ? 0 : 1, name)
    }
  },
)

t.test(
  'feature sources: the first geometry is that of the feature; rows without one are in every area',
  async (t) => {
    const { store, sources } = opened(t)
    await store.create(definition('d', columns('k int', 'g geometry?', 'h geometry?')))
    await store.put(
      'd',
      [
        [1, 'POINT(1 2)', 'POINT(9 9)'],
        [2, null, null],
        [3, 'POINT(5 5)', null],
      ],
      'error',
    )
    const source = await sources.find('dataset', 'd')
    const area = prepareArea({ type: 'Point', coordinates: [1, 2] })
    t.same(await rowsOf(source, { area }), [
      {
        rowId: 1,
        geometry: { type: 'Point', coordinates: [1, 2] },
        properties: { k: 1, h: { type: 'Point', coordinates: [9, 9] } },
      },
      { rowId: 2, geometry: null, properties: { k: 2, h: null } },
    ])
    t.same(
      source?.columns.map(({ name, isQueryable }) => [name, isQueryable]),
      [
        ['k', true],
        ['h', false],
      ],
    )
  },
)

t.test(
  'feature sources: a cited table shows what was encrypted then, and ends with its citation',
  async (t) => {
    const { tables, store, sources } = opened(t)
    const table = tables.register(
      'events',
      [
        { name: 'k', udtName: 'int4' },
        { name: 'secret', isEncrypted: true },
      ],
      ['k'],
    )
    await tables.put(table, [feature([1, 2], { k: 1, secret: 'hidden' }), feature(null, { k: 2 })])
    const { longForm } = await store.cite('c', 'events')
    await tables.put(table, [feature([3, 4], { k: 1, secret: 'changed' })], 'override')
    const source = await sources.find('citation', longForm)
    const noPeriod = { start_datetime: null, end_datetime: null }
    const expected = [
      {
        rowId: 1,
        geometry: { type: 'Point', coordinates: [1, 2] },
        properties: { ...noPeriod, k: 1, secret: 'hidden' },
      },
      { rowId: 2, geometry: null, properties: { ...noPeriod, k: 2, secret: null } },
    ]
    t.same(await rowsOf(source), expected)
    const area = prepareArea({ type: 'Point', coordinates: [1, 2] })
    t.same(await rowsOf(source, { area }), expected, 'by the index, with the row that has no place')
    await store.uncite(longForm)
    await t.rejects(rowsOf(source), { message: `the citation ${longForm} was removed` })
  },
)

t.test('feature sources: a large row of a dataset is whole, in its place', async (t) => {
  const { store, sources } = opened(t)
  await store.create(definition('d', columns('k integer', 'name text'), ['k']))
  const names = ['a', 'b'.repeat(300_000), 'c']
  await store.put(
    'd',
    names.map((name, k) => [k, name]),
    'error',
  )
  const found: unknown[] = []
  const source = await sources.find('dataset', 'd')
  // a large row is let go of when the next one is asked for
  for await (const page of source?.pages({}, undefined) ?? [])
    found.push(...page.map(({ properties }) => String(properties.name).length))
  t.same(found, [1, 300_000, 1])
})
