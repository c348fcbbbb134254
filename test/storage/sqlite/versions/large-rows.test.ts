import t from 'tap'
import { allRecords, columns, definition, openDatasets } from '../../../support/datasets.js'

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
