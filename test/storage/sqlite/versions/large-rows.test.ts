import t from 'tap'
import type { StateRow } from '../../../../src/storage/datasets/states.js'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { withLargeValues } from '../../../../src/storage/sqlite/versions/large-rows.js'
import { versionedLoader } from '../../../../src/storage/sqlite/versions/versioned-table.js'
import { createLargeReads } from '../../../../src/storage/work/large-reads.js'
import { allRecords, columns, definition, openDatasets } from '../../../support/datasets.js'
import { openTables } from '../../../support/tables.js'

const LARGE = 300_000

t.test('large rows of a state: each is whole and in its place among small ones', async (t) => {
  const { store, close } = openDatasets(':memory:', 7)
  t.teardown(close)
  await store.create(definition('d', columns('k integer', 'name text', 'raw bytea'), ['k']))
  const sizes = [9, LARGE, LARGE, 9, 9, LARGE, 9]
  const rows = sizes.map((size, n) => [
    n + 1,
    `${n}`.repeat(size),
    Buffer.alloc(LARGE - size, n).toString('base64'),
  ])
  await store.put('d', rows, 'error')
  await store.cite('c', 'd')
  await store.settled()
  const expected = rows.map(([k, name, raw]) => ({ k, name, raw }))
  t.same(await allRecords(store, 'c'), expected)
  t.same(await allRecords(store, 'c', { order: '-k' }), expected.toReversed())
  const names = expected.map(({ k, name }) => ({ k, name }))
  t.same(await allRecords(store, 'c', { columns: ['k', 'name'] }), names, 'small rows between large ones')
  t.same(await allRecords(store, 'c', { columns: ['k', 'name'], offset: 2, limit: 3 }), names.slice(2, 5))
})

t.test('large rows of a state: each waits for its turn; one that is gone is left out', async (t) => {
  const tables = openTables()
  const table = versionedLoader(tables.register('x', [{ name: 'v' }], ['v']), 0)
  const at = table.columns.findIndex(({ name }) => name === 'v') + 1
  const rowOf = (id: bigint, value: string | bigint): StateRow => {
    const row: StateRow = [id, ...table.columns.map(() => null)]
    row[at] = value
    return row
  }
  async function* pages() {
    yield [rowOf(1n, 'small'), rowOf(2n, BigInt(LARGE)), rowOf(3n, BigInt(LARGE))]
  }
  const turns = createLargeReads(LARGE)
  const db = openDatabase(':memory:', [])
  t.teardown(() => db.close())
  const readWhole = (id: number) => (id === 3 ? [] : [rowOf(BigInt(id), 'x'.repeat(LARGE))])
  const found: unknown[] = []
  for await (const page of withLargeValues(pages(), {
    db,
    columns: table.columns,
    turns,
    signal: undefined,
    readWhole,
  }))
    found.push(...page.map(([id, ...values]) => [Number(id), String(values[at - 1]).length]))
  t.same(found, [
    [1, 5],
    [2, LARGE],
  ])
  const end = await turns.take(LARGE, undefined)
  t.type(end, 'function', 'nobody holds a turn any more')
  end()
})
