import t from 'tap'
import { conformExpire } from '../../../support/conformance/retention/expire.js'
import { conformLate } from '../../../support/conformance/retention/late.js'
import { conformSums } from '../../../support/conformance/retention/sums.js'
import { conformThinning } from '../../../support/conformance/retention/thin.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresRetention } from '../../../support/postgres-retention.js'

t.test('rules of retention on PostgreSQL', { skip: noPostgres() }, async (t) => {
  const open = await postgresRetention(t)
  await conformExpire(t, open)
  await conformThinning(t, open)
  await conformLate(t, open)
  await conformSums(t, open)
})
