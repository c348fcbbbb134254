import t from 'tap'
import { conformChanges } from '../../../support/conformance/tables/changes.js'
import { conformDays } from '../../../support/conformance/tables/days.js'
import { conformFeatures } from '../../../support/conformance/tables/features.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'

t.test('loader tables on PostgreSQL: changes, features', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  await conformChanges(t, open)
  await conformDays(t, open)
  await conformFeatures(t, open)
})
