import t from 'tap'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature, openTables } from '../../support/tables.js'

t.test('cost of a condition: terms × pattern × text, before it runs', async (t) => {
  const tables = openTables()
  const table = tables.register('texts', [{ name: 'n', udtName: 'int4' }, { name: 'note' }], ['n'])
  await tables.put(
    table,
    [0, 1].map((n) => feature(null, { n, note: 'a'.repeat(100_000) })),
  )
  const costly = { like: ['note', `%${'a'.repeat(9000)}_b%`] }
  await rejectsWith(
    t,
    tables.read(table, { conds: { not: { or: [costly, { is_null: ['n'] }] } } }),
    'TOO_EXPENSIVE',
    {
      message:
        /at \$\.properties\.conds: found about 18\d{8} comparisons of characters, expected at most 1000000000/,
      data: { path: '$.properties.conds', limit: 1_000_000_000 },
    },
  )
  await rejectsWith(t, tables.reader.count(table, { conds: costly }), 'TOO_EXPENSIVE')
  const plain = { like: ['note', `%${'a'.repeat(9000)}b%`] }
  t.same(
    await tables.read(table, { conds: { and: [plain, plain] } }),
    [],
    'text without _ is searched in one pass',
  )
  t.same(
    await tables.read(table, { conds: { and: [{ '=': ['n', 5] }, costly] } }),
    [],
    'a key leaves few rows',
  )
  t.equal(
    (await tables.read(table, { conds: { like: ['note', `${'_'.repeat(9000)}%`] } })).length,
    2,
    'one place',
  )
})
