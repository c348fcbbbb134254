import path from 'node:path'
import t from 'tap'
import { findCitation } from '../../../../src/storage/sqlite/citations/catalog.js'
import { findDataset } from '../../../../src/storage/sqlite/datasets/catalog.js'
import { extentOfState, extentOfTable } from '../../../../src/storage/sqlite/features/extent.js'
import { currentState, versionedLoader } from '../../../../src/storage/sqlite/versions/versioned-table.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { feature, openTables } from '../../../support/tables.js'

const DAY_US = 86_400_000_000n
const day = (text: string) => (BigInt(Date.parse(text)) * 1000n) / DAY_US

t.test('extentOfTable: boxes of places alone, whole days of periods, null where one is open', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  const extent = () => extentOfTable(tables.data.reader, table)
  t.same(extent(), { bbox: undefined, interval: undefined }, 'no rows')
  const start_datetime = '2025-01-02T03:04:05Z'
  await tables.put(table, [feature(null, { k: 1, start_datetime, end_datetime: '2025-01-03T01:00:00Z' })])
  t.same(extent(), {
    bbox: undefined,
    interval: [day('2025-01-02') * DAY_US, day('2025-01-04') * DAY_US],
  })
  await tables.put(table, [
    feature([3, 4], { k: 2, start_datetime }),
    feature([-5, 6], { k: 3, start_datetime }),
    feature(null, { k: 4, start_datetime }),
  ])
  t.same(extent(), { bbox: [-5, 4, 3, 6], interval: [day('2025-01-02') * DAY_US, null] })
  const ofState = extentOfState(tables.data.reader, currentState(versionedLoader(table, 0)), undefined)
  t.same(ofState, extent(), 'a state of the table')
})

t.test('extentOfState: the places of a dataset now, and of a citation also those before', async (t) => {
  const { store, data, close } = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns('k int', 'g geometry?'), ['k']))
  const current = () => {
    const table = findDataset(data.reader, 'd')?.table
    if (table === undefined) throw new Error('no dataset')
    return extentOfState(data.reader, currentState(table), 1)
  }
  t.same(current(), { bbox: undefined, interval: undefined })
  await store.put(
    'd',
    [
      [1, 'POINT(10 20)'],
      [2, null],
    ],
    'error',
  )
  const { longForm } = await store.cite('c', 'd')
  await store.put('d', [[1, 'POINT(30 5)']], 'update')
  t.same(current().bbox, [30, 5, 30, 5])
  const cited = findCitation(data.reader, longForm)
  if (cited === undefined) throw new Error('no citation')
  t.same(extentOfState(data.reader, cited.state, 1).bbox, [10, 5, 30, 20], 'contains the cited places')
  t.same(extentOfState(data.reader, cited.state, undefined), { bbox: undefined, interval: undefined })
})
