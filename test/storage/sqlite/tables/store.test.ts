import path from 'node:path'
import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { changeTimes } from '../../../../src/storage/sqlite/tables/changes.js'
import { createTableStore } from '../../../../src/storage/sqlite/tables/store.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, openTables } from '../../../support/tables.js'

t.test('table store: a table that was dropped meanwhile, or registered again, is unknown', async (t) => {
  const tables = openTables(path.join(t.testdir(), 'data.db'))
  t.teardown(() => tables.data.close())
  const store = createTableStore(tables.data)
  const register = () => tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  const table = register()
  await store.drop(table)
  const refusal = { message: /The table events was dropped while the call was running/ }
  await rejectsWith(t, store.drop(table), 'UNKNOWN_TABLE', refusal)
  t.equal(await tables.reader.dataVersion(table), -1)
  t.throws(() => changeTimes(tables.data.reader, table), /no such table/)
  const again = register()
  await rejectsWith(t, store.drop(table), 'UNKNOWN_TABLE', refusal)
  t.equal((await store.find('events'))?.tableId, again.tableId)
  t.equal(await store.mergeIndex('events'), false, 'nothing to merge')
  t.equal(await store.mergeIndex('none'), false)
})

t.test('tables: in an empty area there are no rows, and none are counted', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(table, [feature(null, { k: 1 })])
  const area = prepareArea({ type: 'GeometryCollection', geometries: [] })
  t.same(await tables.read(table, { area }), [])
  t.equal(await tables.reader.count(table, { area }), 0)
})
