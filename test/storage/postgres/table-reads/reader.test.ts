import t from 'tap'
import { conformConditions } from '../../../support/conformance/tables/conditions.js'
import { conformReading } from '../../../support/conformance/tables/reading.js'
import { conformValues } from '../../../support/conformance/tables/values.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'

t.test('loader tables on PostgreSQL: values, conditions, reading', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  await conformValues(t, open, 30)
  await conformConditions(t, open)
  await conformReading(t, open, 40)
})
