import path from 'node:path'
import t, { type Test } from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { Geometry } from '../../../../src/geo/types.js'
import { encodeWkb } from '../../../../src/geo/wkb.js'
import type { StateQuery } from '../../../../src/storage/datasets/states.js'
import type { Db } from '../../../../src/storage/sqlite/connection/database.js'
import { findDataset } from '../../../../src/storage/sqlite/datasets/catalog.js'
import { planState, requireColumn } from '../../../../src/storage/sqlite/versions/plan.js'
import {
  currentState,
  type TableState,
  versionedLoader,
} from '../../../../src/storage/sqlite/versions/versioned-table.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { openTables } from '../../../support/tables.js'
import { throwsWith } from '../../../support/throws.js'

const GIVEN = {
  env: { timeZoneMin: 0, nowUs: 0n },
  paths: { conds: '$.condition', order: '$.order', columns: '$.columns' },
}
const POINT: Geometry = { type: 'Point', coordinates: [3, 4] }
const NOTHING: Geometry = { type: 'GeometryCollection', geometries: [] }

/** Current rows of a dataset without rows, and the planner of a query on them. */
async function planned(t: Test, keyColumns: string[], ...texts: string[]) {
  const { store, data, close } = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns(...texts), keyColumns))
  const table = findDataset(data.reader, 'd')?.table
  if (table === undefined) throw new Error('no dataset')
  return plannerOf(t, data.reader, currentState(table))
}

function plannerOf(t: Test, db: Db, state: TableState) {
  const plan = (query: StateQuery) => {
    const made = planState(db, state, query, GIVEN)
    t.teardown(made.release)
    return made
  }
  return { db, state, plan }
}

t.test('plan: columns come as they are named, each once; none named are all', async (t) => {
  const { plan } = await planned(t, [], 'a int', 'b text', 'c date')
  const names = (query: StateQuery) => plan(query).columns.map(({ name }) => name)
  t.same(names({}), ['a', 'b', 'c'])
  t.same(names({ columns: [] }), ['a', 'b', 'c'])
  t.same(names({ columns: ['c', '_transaction_range', 'a', 'c', '_transaction_range'] }), [
    'c',
    '_transaction_range',
    'a',
  ])
})

t.test('plan: an unknown column is refused with its place and at most 20 of the known names', async (t) => {
  const { plan } = await planned(t, [], ...Array.from({ length: 21 }, (_, at) => `c${at} int`))
  const { message } = throwsWith(t, () => plan({ columns: ['c0', 'x'.repeat(101)] }), 'INVALID_PARAMS')
  const known = Array.from({ length: 20 }, (_, at) => `c${at}`).join(', ')
  t.match(message, `$.columns[1]: found "${'x'.repeat(100)}", expected one of ${known}`)
  t.notMatch(message, 'c20')
})

t.test('plan: the range of transactions can be read but neither tested nor sorted by', async (t) => {
  const { plan } = await planned(t, [], 'a int')
  const conds = { is_null: ['_transaction_range'] }
  throwsWith(t, () => plan({ conds, columns: ['_transaction_range'] }), 'BAD_CONDITION')
  throwsWith(t, () => plan({ order: '_transaction_range' }), 'BAD_CONDITION')
})

t.test(
  'plan: the key answers comparisons that every row must satisfy, from its first column on',
  async (t) => {
    const { plan } = await planned(t, ['a', 'name'], 'a int', 'name character(4)', 'v int')
    const terms = (conds: unknown) => plan({ conds }).keyTerms.map(({ sql, params }) => [sql, ...params])
    t.same(terms({ '=': ['a', 3] }), [['"a" = ?', 3]])
    t.same(terms({ in: ['a', [3, 4]] }), [['"a" IN (?, ?)', 3, 4]])
    t.same(terms({ and: [{ between: ['a', 3, 5] }, { '>=': ['name', 'ab'] }, { '=': ['v', 1] }] }), [
      ['"a" BETWEEN ? AND ?', 3, 5],
      ['"name" >= ?', 'ab'],
    ])
    for (const conds of [
      {},
      { '<>': ['a', 3] },
      { is_null: ['a'] },
      { not: { '=': ['a', 3] } },
      { or: [{ '=': ['a', 3] }] },
      { '=': ['name', 'ab'] },
    ])
      t.same(terms(conds), [], JSON.stringify(conds))
  },
)

t.test('plan: a numeric key answers equality alone, in the form in which keys are stored', async (t) => {
  const { plan } = await planned(t, ['n'], 'n numeric')
  const terms = (conds: unknown) => plan({ conds }).keyTerms.map(({ sql, params }) => [sql, ...params])
  t.same(terms({ '=': ['n', '1.500'] }), [['"n" = ?', '1.5']])
  t.same(terms({ '=': ['n', '-0.0'] }), [['"n" = ?', '0']])
  t.same(terms({ '>': ['n', '1'] }), [])
  t.same(terms({ in: ['n', ['1', '2']] }), [])
})

t.test('plan: a key that is compared by a function has no index that answers', async (t) => {
  const { plan } = await planned(t, ['z'], 'z timetz')
  t.same(plan({ conds: { '=': ['z', '12:00+00'] } }).keyTerms, [])
})

t.test('plan: a box comes from the area of the query, else from the condition', async (t) => {
  const { plan } = await planned(t, [], 'a int', 'g geometry', 'h geometry?')
  const near = (column: string, geometry: Geometry) => ({ intersects: [column, geometry] })
  const area = prepareArea({ type: 'Point', coordinates: [7, 8] })
  t.equal(plan({ conds: { '=': ['a', 1] } }).box, undefined)
  t.same(plan({ conds: near('h', POINT) }).box, { slot: 2, bbox: [3, 4, 3, 4] })
  t.same(plan({ conds: { and: [near('h', POINT), { within: ['g', POINT] }] } }).box, {
    slot: 1,
    bbox: [3, 4, 3, 4],
  })
  t.equal(plan({ conds: { not: near('g', POINT) } }).box, undefined)
  t.equal(plan({ conds: near('g', NOTHING) }).box, 'empty')
  t.same(plan({ conds: near('g', POINT), within: { column: 'h', area } }).box, {
    slot: 2,
    bbox: [7, 8, 7, 8],
  })
  t.equal(plan({ within: { column: 'g', area: prepareArea(NOTHING) } }).box, 'empty')
})

t.test('plan: rows without a geometry are in no box of a dataset, those of a loader table are', async (t) => {
  const { plan } = await planned(t, [], 'g geometry', 'h geometry?')
  const area = prepareArea(POINT)
  t.equal(plan({ within: { column: 'h', area, isNullIn: true } }).box, undefined)
  t.same(plan({ within: { column: 'g', area, isNullIn: true } }).box, { slot: 0, bbox: [3, 4, 3, 4] })
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const loader = tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  const ofLoader = plannerOf(t, tables.data.reader, currentState(versionedLoader(loader, 0)))
  const slot = loader.columns.findIndex(({ name }) => name === 'location')
  t.same(ofLoader.plan({ within: { column: 'location', area, isNullIn: true } }).box, {
    slot,
    bbox: [3, 4, 3, 4],
  })
})

t.test('plan: the areas of a query are kept until it is released, and not when it is refused', async (t) => {
  const { db, state } = await planned(t, [], 'g geometry')
  const conds = { and: [{ intersects: ['g', POINT] }, { within: ['g', POINT] }] }
  const isNear = (handle: bigint) =>
    db.prepare('SELECT geo_intersects(?, ?)').pluck().get(encodeWkb(POINT), handle)
  const plan = planState(db, state, { conds, within: { column: 'g', area: prepareArea(POINT) } }, GIVEN)
  const handles = plan.params as bigint[]
  t.same(handles.toSorted(), [1n, 2n, 3n])
  for (const handle of handles) t.equal(isNear(handle), 1)
  plan.release()
  plan.release()
  for (const handle of handles) t.throws(() => isNear(handle), /no area has the handle/)

  t.throws(
    () => planState(db, state, { conds, within: { column: 'gone', area: prepareArea(POINT) } }, GIVEN),
    /the state has no column gone/,
  )
  for (const handle of [4n, 5n]) t.throws(() => isNear(handle), /no area has the handle/, `${handle}`)
})

t.test('requireColumn: a column of the state, or an error that names it', async (t) => {
  const { state } = await planned(t, [], 'a int')
  t.equal(requireColumn(state, 'a'), state.columns[0])
  t.throws(() => requireColumn(state, 'b'), { message: 'the state has no column b' })
})
