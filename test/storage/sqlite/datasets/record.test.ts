import t from 'tap'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
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
