import t from 'tap'
import { newerSchemaFault } from '../../src/storage/maintenance.js'

t.test('newerSchemaFault: a newer schema is refused with both versions, an older one is not', async (t) => {
  t.equal(newerSchemaFault('state.db', 2, 2), null)
  t.equal(newerSchemaFault('data.db', 1, 4), null)
  t.match(newerSchemaFault('data.db', 5, 4), /data\.db has schema version 5, .* up to 4/)
})
