import path from 'node:path'
import t, { type Test } from 'tap'
import type { ReadOptions, RowState } from '../../../../src/storage/datasets/states.js'
import { findDataset } from '../../../../src/storage/sqlite/datasets/catalog.js'
import { toRowState, uncitedInfo } from '../../../../src/storage/sqlite/versions/row-state.js'
import { currentState } from '../../../../src/storage/sqlite/versions/versioned-table.js'
import { createPause } from '../../../../src/storage/work/pause.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { NOW_US } from '../../../support/tables.js'

type ChecksOf = NonNullable<Parameters<typeof toRowState>[3]>

/** Ten rows of a dataset, the keys equal to the row ids, with the checks of a test. */
async function tenRows(t: Test, checksOf?: ChecksOf) {
  const { store, data, close } = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns('k int', 'v text?'), ['k']))
  await store.put(
    'd',
    Array.from({ length: 10 }, (_, at) => [at + 1, `v${at + 1}`]),
    'error',
  )
  const table = findDataset(data.reader, 'd')?.table
  if (table === undefined) throw new Error('no dataset')
  const info = uncitedInfo(table, NOW_US)
  return { table, rows: toRowState(data.reader, currentState(table), { kind: 'dataset', info }, checksOf) }
}

const options = (pageRows: number, signal?: AbortSignal): ReadOptions => ({
  env: { timeZoneMin: 0, nowUs: 0n },
  pageRows,
  pause: createPause(signal, 0),
})

async function keysOf(rows: RowState, query: Parameters<RowState['read']>[0]): Promise<number[]> {
  const keys: number[] = []
  const { pages } = await rows.read({ columns: ['k'], ...query }, options(3))
  for await (const page of pages) keys.push(...page.map(([, key]) => Number(key)))
  return keys
}

t.test('row state: identity, columns and key are those of the table', async (t) => {
  const { rows, table } = await tenRows(t)
  t.equal(rows.kind, 'dataset')
  t.same(
    rows.columns.map(({ name }) => name),
    ['k', 'v'],
  )
  t.same(rows.keyColumns, ['k'])
  t.same(rows.info, {
    citationId: 0,
    shortForm: 'd',
    longForm: 'd',
    datasetName: 'd',
    datasetRealname: table.realname,
    transactionTimeUs: NOW_US,
    createdAtUs: NOW_US,
    checksum: null,
    origin: null,
  })
  t.same(await keysOf(rows, { offset: 7 }), [8, 9, 10], 'an offset is counted when no start is known')
})

t.test('row state: checks are made once for a reading, and run before each of its pages', async (t) => {
  const events: string[] = []
  const { rows } = await tenRows(t, (query) => {
    events.push(`opened with limit ${query.limit}`)
    return { check: () => void events.push('checked') }
  })
  const { pages } = await rows.read({ limit: 4 }, options(2))
  t.same(events, ['opened with limit 4'], 'nothing is read before the first page is asked for')
  for await (const page of pages) events.push(`${page.length} rows`)
  t.same(events.slice(1), ['checked', '2 rows', 'checked', '2 rows'])
})

t.test('row state: a check that fails ends the reading with its error', async (t) => {
  let checks = 0
  const check = () => {
    if (++checks === 2) throw new Error('the rows are gone')
  }
  const { rows } = await tenRows(t, () => ({ check }))
  const { pages } = await rows.read({}, options(4))
  t.equal((await pages.next()).value?.length, 4)
  await t.rejects(pages.next(), { message: 'the rows are gone' })
  t.match(await pages.next(), { done: true })
})

t.test('row state: an offset is read from the start that is known for it', async (t) => {
  const asked: unknown[] = []
  const { rows } = await tenRows(t, () => ({
    seek(offset, isWhole) {
      asked.push([offset, isWhole])
      return { afterId: 4, skip: 2 }
    },
  }))
  t.same(await keysOf(rows, { offset: 6, limit: 2 }), [7, 8])
  t.same(await keysOf(rows, { offset: 6, conds: { '>': ['k', 5] } }), [8, 9, 10], 'of the rows that match')
  t.same(await keysOf(rows, { limit: 1 }), [1], 'not asked without an offset')
  t.same(asked, [
    [6, true],
    [6, false],
  ])
})

t.test('row state: a query with a fault is refused before its first page', async (t) => {
  const { rows } = await tenRows(t)
  await rejectsWith(t, rows.read({ conds: { '=': ['x', 1] } }, options(5)), 'BAD_CONDITION', {
    data: { path: '$.condition["="][0]', found: '"x"' },
  })
  await rejectsWith(t, rows.read({ columns: ['v', 'x'] }, options(5)), 'INVALID_PARAMS', {
    message: /columns\[1\].*found "x", expected one of k, v/,
  })
})

t.test('row state: a caller who goes away ends the reading at the next pause', async (t) => {
  const stop = new AbortController()
  const { rows } = await tenRows(t)
  const { pages } = await rows.read({}, options(2, stop.signal))
  t.equal((await pages.next()).value?.length, 2)
  stop.abort()
  await rejectsWith(t, pages.next(), 'CANCELLED')
})
