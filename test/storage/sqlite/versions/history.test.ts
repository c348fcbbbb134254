import path from 'node:path'
import t, { type Test } from 'tap'
import { allVersioned } from '../../../../src/storage/sqlite/citations/catalog.js'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { versionNames } from '../../../../src/storage/sqlite/tables/version-names.js'
import { discardTable, endVersions, fromTxSql } from '../../../../src/storage/sqlite/versions/history.js'
import type { VersionedTable } from '../../../../src/storage/sqlite/versions/versioned-table.js'
import {
  allRecords,
  columns,
  definition,
  type OpenedDatasets,
  openDatasets,
} from '../../../support/datasets.js'
import { feature, openTables } from '../../../support/tables.js'

function openedIn(t: Test): { opened: OpenedDatasets; file: string } {
  const file = path.join(t.testdir(), 'data.db')
  const opened = openDatasets(file)
  t.teardown(opened.close)
  return { opened, file }
}

/** The only table whose former rows are kept. */
function versionedTable({ data }: OpenedDatasets): VersionedTable {
  const [table] = allVersioned(data.writer)
  if (table === undefined) throw new Error('no former rows are kept')
  return table
}

function rowsOf({ data }: OpenedDatasets, sql: string): unknown[] {
  return data.writer.prepare(sql).raw().all()
}

const names = (opened: OpenedDatasets) => versionNames(versionedTable(opened))
const citedTx = (opened: OpenedDatasets) =>
  Number(rowsOf(opened, 'SELECT cited_tx FROM versioned_table').flat()[0])

t.test('history: the version that a citation saw is kept, with its range of transactions', async (t) => {
  const { opened } = openedIn(t)
  const { store } = opened
  await store.create(definition('d', columns('k int', 'v text'), ['k']))
  const put = (v: string) => store.put('d', [[1, v]], 'update')
  await put('unseen')
  await put('seen')
  await store.cite('c', 'd')
  const tx = citedTx(opened)
  await put('between')
  await put('current')
  const { history } = names(opened)
  t.same(rowsOf(opened, `SELECT v, "from tx" <= ${tx}, "to tx" > ${tx} FROM ${history}`), [['seen', 1, 1]])
})

t.test('history: a deleted row leaves its id and key only when a version of it is kept', async (t) => {
  const { opened } = openedIn(t)
  const { store } = opened
  await store.create(definition('d', columns('k int', 'name character(4)', 'v text?'), ['k', 'name']))
  await store.put('d', [[1, 'ab', 'old']], 'error')
  await store.cite('c', 'd')
  await store.put('d', [[2, 'new', null]], 'error')
  t.equal(await store.deleteRecords('d', {}), 2)
  const { gone } = names(opened)
  t.same(rowsOf(opened, `SELECT * FROM ${gone}`), [[1, 1, 'ab  ']])
  const found = await allRecords(store, 'c', { conds: { and: [{ '=': ['k', 1] }, { '=': ['name', 'ab'] }] } })
  t.same(found, [{ k: 1, name: 'ab  ', v: 'old' }], 'a key compares without the spaces at its end')
})

t.test('history: a table without a key keeps the ids of deleted rows', async (t) => {
  const { opened } = openedIn(t)
  const { store } = opened
  await store.create(definition('d', columns('v text')))
  await store.put('d', [['a'], ['b']], 'error')
  await store.cite('c', 'd')
  await store.deleteRecords('d', { '=': ['v', 'b'] })
  t.same(rowsOf(opened, `SELECT * FROM ${names(opened).gone}`), [[2]])
  t.same(await allRecords(store, 'c'), [{ v: 'a' }, { v: 'b' }])
})

t.test('history: of a loader table a call is one transaction, and unchanged rows count as old', async (t) => {
  const { opened, file } = openedIn(t)
  const tables = openTables(file)
  t.teardown(() => tables.data.close())
  const table = tables.register('events', [{ name: 'k', udtName: 'int4' }, { name: 'v' }], ['k'])
  const put = (v: string, ...keys: number[]) =>
    tables.put(
      table,
      keys.map((k) => feature([k, 0], { k, v })),
      'override',
    )
  await put('first', 1, 2, 3)
  await opened.store.cite('c', 'events')
  const versioned = versionedTable(opened)
  const began = () =>
    rowsOf(opened, `SELECT c.k, ${fromTxSql(versioned)} FROM ${names(opened).current} AS c ORDER BY c.k`)
  t.same(
    began(),
    [
      [1, 0],
      [2, 0],
      [3, 0],
    ],
    'none changed since',
  )
  const before = Number(rowsOf(opened, 'SELECT max(tx) FROM row_transaction').flat()[0])
  await put('second', 1, 2)
  await put('third', 2)
  t.same(began(), [
    [1, before + 1],
    [2, before + 2],
    [3, 0],
  ])
  const { history } = names(opened)
  t.same(
    rowsOf(opened, `SELECT k, v, "from tx" FROM ${history} ORDER BY k`),
    [
      [1, 'first', 0],
      [2, 'first', 0],
    ],
    'no citation saw the second version of 2',
  )
  const kept = await allRecords(opened.store, 'c', { columns: ['v'] })
  t.same(
    kept.map(({ v }) => v),
    ['first', 'first', 'first'],
  )
})

t.test('history: ended, it keeps nothing more and leaves its tables to the next vacuum', async (t) => {
  const { opened } = openedIn(t)
  const { store, data } = opened
  await store.create(definition('d', columns('k int', 'v text'), ['k']))
  await store.put('d', [[1, 'a']], 'update')
  await store.cite('c', 'd')
  const table = versionedTable(opened)
  const { current, history, gone, trigger } = names(opened)
  transaction(data.writer, () => {
    data.writer.exec('DELETE FROM citation')
    endVersions(data.writer, table)
  })
  data.writer.exec(`UPDATE ${current} SET v = 'b'; DELETE FROM ${current}`)
  t.same(rowsOf(opened, `SELECT * FROM ${history} UNION ALL SELECT *, 0, 0, 0, 0 FROM ${gone}`), [])
  t.same(allVersioned(data.writer), [])
  t.same(
    rowsOf(opened, 'SELECT table_name FROM dropped_table ORDER BY 1').flat(),
    [gone, history].map((name) => name.slice(1, -1)),
  )
  t.throws(() => data.writer.exec(`DROP TRIGGER ${trigger('update')}`), /no such trigger/)
})

t.test('history: a discarded table is listed once, by its plain name', async (t) => {
  const { opened } = openedIn(t)
  const { writer } = opened.data
  for (let call = 0; call < 2; call++) discardTable(writer, '"a ""quoted"" name"')
  t.same(rowsOf(opened, 'SELECT table_name FROM dropped_table'), [['a "quoted" name']])
})
