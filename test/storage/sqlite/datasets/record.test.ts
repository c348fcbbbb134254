import t from 'tap'
import { limitValues } from '../../../../src/storage/sqlite/connection/value-limit.js'
import { allRecords, columns, definition, openDatasets } from '../../../support/datasets.js'
import { rejectsWith } from '../../../support/rejects-with.js'

t.test('dataset record: a key that exists is named, of bytes only their number', async (t) => {
  const { store, close } = openDatasets()
  t.teardown(close)
  const key = ['n', 'big', 'name', 'raw']
  await store.create(definition('d', columns('n int', 'big bigint', 'name text', 'raw bytea'), key))
  const record = [1, '9223372036854775807', 'a', 'AAE=']
  await rejectsWith(t, store.put('d', [record, record], 'error'), 'RECORD_EXISTS', {
    message: /a record with n 1, big 9223372036854775807, name "a", raw of 2 bytes already exists/,
    data: { index: 1, key_columns: key },
  })
})

t.test(
  'dataset record: one with a value beyond the limit is refused, and nothing of its call is stored',
  async (t) => {
    const { store, data, close } = openDatasets()
    t.teardown(close)
    limitValues(data.writer, 100)
    await store.create(definition('d', columns('n int', 'name text'), ['n']))
    const call = [
      [1, 'short'],
      [2, 'x'.repeat(101)],
    ]
    await rejectsWith(t, store.put('d', call, 'error'), 'BAD_RECORD', { data: { index: 1, column: 'name' } })
    await store.put('d', [[2, 'y'.repeat(50)]], 'error')
    await store.cite('c', 'd')
    t.same(await allRecords(store, 'c'), [{ n: 2, name: 'y'.repeat(50) }])
  },
)
