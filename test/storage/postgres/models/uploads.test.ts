import t from 'tap'
import { conformUploads } from '../../../support/conformance/uploads.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('uploads on PostgreSQL', { skip: noPostgres() }, async (t) => {
  await conformUploads(t, await postgresStates(t))
  await conformUploads(t, await postgresStates(t, (commits) => commits % 2 === 1)) // answers of commits are lost
})
