import t from 'tap'
import { openTables } from '../../../support/tables.js'

const HUB = '11111111-1111-4111-8111-111111111111'

function record(k: number) {
  return { type: 'Feature', geometry: { type: 'Point', coordinates: [10 + k / 100, 45] }, properties: { k } }
}

async function setUp() {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(table, [record(1), record(2)])
  await tables.put(table, [record(1), record(3)], 'skip', { origin: HUB })
  const read = async (query: Parameters<typeof tables.read>[1]) =>
    (await tables.read(table, query)).map(({ properties: { k, _origin } }) => [k, _origin])
  return { tables, table, read }
}

t.test('origins: _origin is read where it is named, and is empty for rows of this gateway', async (t) => {
  const { tables, table, read } = await setUp()
  t.same(await read({ columns: ['k', '_origin'] }), [
    [1, ''],
    [2, ''],
    [1, HUB],
    [3, HUB],
  ])
  const [first] = await tables.read(table)
  t.notOk(Object.hasOwn(first?.properties ?? {}, '_origin'), 'not unless it is named')
})

t.test('origins: conditions and orders use _origin', async (t) => {
  const { tables, table, read } = await setUp()
  const columns = ['k', '_origin']
  t.same(await read({ columns, conds: { '=': ['_origin', HUB] } }), [
    [1, HUB],
    [3, HUB],
  ])
  t.same(await read({ columns, conds: { and: [{ '=': ['_origin', ''] }, { '=': ['k', 1] }] } }), [[1, '']])
  t.same(await read({ columns, conds: { like: ['_origin', '1111%'] } }), [
    [1, HUB],
    [3, HUB],
  ])
  t.same(await read({ columns, order: ['-_origin', '-k'] }), [
    [3, HUB],
    [1, HUB],
    [2, ''],
    [1, ''],
  ])
  t.equal(await tables.reader.count(table, { conds: { '=': ['_origin', ''] } }), 2)
})

t.test('origins: a table that an earlier version registered with a column _origin keeps it', async (t) => {
  const tables = openTables()
  const columns = [{ name: 'k', udtName: 'int4' as const }, { name: '_origin' }]
  const table = tables.register('x', columns, ['k'])
  await tables.put(table, [{ type: 'Feature', geometry: null, properties: { k: 1, _origin: 'mine' } }])
  const [row] = await tables.read(table, { conds: { '=': ['_origin', 'mine'] } })
  t.equal(row?.properties._origin, 'mine')
})
