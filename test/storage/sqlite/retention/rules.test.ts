import t from 'tap'
import { conformExpire } from '../../../support/conformance/retention/expire.js'
import { conformLate } from '../../../support/conformance/retention/late.js'
import { conformSums } from '../../../support/conformance/retention/sums.js'
import { conformThinning } from '../../../support/conformance/retention/thin.js'
import { openSqliteRetention } from '../../../support/conformance/retention/world.js'

t.test('rules of retention on SQLite', async (t) => {
  await conformExpire(t, openSqliteRetention)
  await conformThinning(t, openSqliteRetention)
  await conformLate(t, openSqliteRetention)
  await conformSums(t, openSqliteRetention)
})
