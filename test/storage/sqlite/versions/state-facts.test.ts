import t from 'tap'
import { findDataset } from '../../../../src/storage/sqlite/datasets/catalog.js'
import { stateFacts } from '../../../../src/storage/sqlite/versions/state-facts.js'
import { currentState, versionedLoader } from '../../../../src/storage/sqlite/versions/versioned-table.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { feature, openTables } from '../../../support/tables.js'

const ROWS = 20
/** Box around the points (1, 1) to (5, 5). */
const box = { slot: 1, bbox: [0.5, 0.5, 5.5, 5.5] as [number, number, number, number] }
const key = (sql: string, ...params: number[]) => [{ sql, params }]

t.test('stateFacts: rows of a dataset that its key or its box leaves', async (t) => {
  const { store, data, close } = openDatasets()
  t.teardown(close)
  await store.create(definition('d', columns('k integer', 'g geometry', 'note text'), ['k']))
  const rows = Array.from({ length: ROWS }, (_, n) => [n + 1, `POINT(${n + 1} ${n + 1})`, 'four'])
  await store.put('d', rows, 'error')
  const table = findDataset(data.reader, 'd')?.table
  if (table === undefined) throw new Error('no dataset')
  const factsOf = (narrowing: Partial<Parameters<typeof stateFacts>[2]>, most?: number) =>
    stateFacts(data.reader, currentState(table), { keyTerms: [], box: undefined, ...narrowing }, most)
  t.equal(factsOf({}).rows, ROWS)
  t.equal(factsOf({}).meanBytes('note'), 4)
  t.equal(factsOf({ box }).rows, 5)
  t.equal(factsOf({ box: 'empty' }).rows, 0)
  t.equal(factsOf({ keyTerms: key('"k" <= ?', 7) }).rows, 7)
  t.equal(factsOf({ keyTerms: key('"k" <= ?', 7), box }).rows, 7, 'the box is not counted beside a key')
  t.equal(factsOf({ keyTerms: key('"k" <= ?', 7), box }, 6).rows, 5, 'the box alone: the key leaves many')
  t.equal(factsOf({ box }, 6).rows, 5)
  t.equal(factsOf({ box }, 5).rows, ROWS, 'as many as are counted at most')
  t.equal(factsOf({ keyTerms: key('"k" <= ?', 7) }, 7).rows, ROWS)
})

t.test('stateFacts: rows of a loader table come from the boxes of its locations', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const loader = tables.register(
    'events',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'area', udtName: 'geometry' },
    ],
    ['k'],
  )
  for (const lng of [3, 40]) // two calls: two runs of rows, each with a box of its own
    await tables.put(
      loader,
      Array.from({ length: 4 }, (_, n) => feature([lng, 4], { k: lng * 10 + n })),
    )
  const state = currentState(versionedLoader(loader, 0))
  const slotOf = (name: string) => state.columns.findIndex((column) => column.name === name)
  const rows = (slot: number) =>
    stateFacts(tables.data.reader, state, { keyTerms: [], box: { ...box, slot } }).rows
  t.equal(rows(slotOf('location')), 4, 'rows of the run that the box meets')
  t.equal(rows(slotOf('area')), 8, 'no index has another column')
})
