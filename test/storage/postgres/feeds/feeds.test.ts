import t from 'tap'
import { conformFeedRows } from '../../../support/conformance/feed-rows.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('feeds and bundles on PostgreSQL', { skip: noPostgres() }, async (t) => {
  await conformFeedRows(t, await postgresStates(t))
})

t.test('the same where answers of commits are lost', { skip: noPostgres() }, async (t) => {
  // of thousands of bundles not each one: a lost answer costs 50 ms
  await conformFeedRows(
    t,
    await postgresStates(t, (commits) => commits % 2 === 1 && (commits < 150 || commits % 50 === 1)),
  )
})
