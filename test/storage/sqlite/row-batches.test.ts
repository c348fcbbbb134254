import t from 'tap'
import { createRowBatches } from '../../../src/storage/sqlite/row-batches.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openTables } from '../../support/tables.js'

t.test(
  'row batches: a table that does not exist is an error, and nothing of its batch is stored',
  async (t) => {
    const { data, register } = openTables()
    t.teardown(() => data.close())
    register('places', [{ name: 'n', udtName: 'int4' }], ['n'])
    const batches = createRowBatches(data.writer)
    const load = batches.run(async (batch) => {
      data.writer.exec('CREATE TABLE begun (n INTEGER) STRICT')
      await batch.table('gone')
    })
    await rejectsWith(t, load, 'UNKNOWN_TABLE', {
      message: /The table gone does not exist any more/,
      data: { data_name: 'gone' },
    })
    t.same(data.writer.prepare("SELECT name FROM sqlite_schema WHERE name = 'begun'").all(), [])
    t.equal((await batches.run((batch) => batch.table('places'))).table.dataName, 'places')
  },
)
