import t from 'tap'
import { conformSenders } from '../../../support/conformance/senders.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('senders of feeds on PostgreSQL', { skip: noPostgres() }, async (t) => {
  await conformSenders(t, await postgresStates(t))
  await conformSenders(t, await postgresStates(t, (commits) => commits % 2 === 1)) // answers of commits are lost
})
