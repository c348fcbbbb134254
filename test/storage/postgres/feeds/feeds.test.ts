import t from 'tap'
import { conformFeedRows, conformManyFeedRows } from '../../../support/conformance/feed-rows.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('feeds and bundles on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const open = await postgresStates(t)
  await conformFeedRows(t, open)
  await conformManyFeedRows(t, open)
})

t.test('the same where answers of commits are lost', { skip: noPostgres() }, async (t) => {
  // of thousands of bundles not each one: a lost answer costs 50 ms
  await conformFeedRows(
    t,
    await postgresStates(t, (commits) => commits % 2 === 1 && (commits < 150 || commits % 15 === 0)),
  )
})
