import t from 'tap'
import { conformAudit, conformMeta, conformNodeKeys } from '../../../support/conformance/identity.js'
import { conformKeys, conformSessions } from '../../../support/conformance/keys-and-sessions.js'
import { conformIdleSessions, conformSessionLists } from '../../../support/conformance/session-lists.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('keys, sessions and identity on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const open = await postgresStates(t)
  await conformMeta(t, open)
  await conformAudit(t, open)
  await conformNodeKeys(t, open)
  await conformKeys(t, open)
  await conformSessions(t, open)
  await conformIdleSessions(t, open)
  await conformSessionLists(t, open)
})

t.test('the same where the answers of commits are lost', { skip: noPostgres() }, async (t) => {
  let cuts = 0
  const open = await postgresStates(t, (commits) => {
    if (commits % 2 === 1) cuts++
    return commits % 2 === 1
  })
  await conformMeta(t, open)
  await conformNodeKeys(t, open)
  await conformKeys(t, open)
  await conformSessions(t, open)
  await conformSessionLists(t, open)
  t.ok(cuts > 50, `${cuts} answers were lost`)
})
