import t from 'tap'
import { conformTokensAndProfiles } from '../../../support/conformance/fleet.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('tokens and profiles on PostgreSQL', { skip: noPostgres() }, async (t) => {
  await conformTokensAndProfiles(t, await postgresStates(t))
  await conformTokensAndProfiles(t, await postgresStates(t, (commits) => commits % 2 === 1))
})
