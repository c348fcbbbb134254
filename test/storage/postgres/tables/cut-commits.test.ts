import t from 'tap'
import { conformCatalog } from '../../../support/conformance/tables/catalog.js'
import { conformFiles } from '../../../support/conformance/tables/files.js'
import { conformPut } from '../../../support/conformance/tables/put.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'

t.test('loader tables on PostgreSQL: answers of commits are lost', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t, (commits) => commits % 2 === 1)
  await conformCatalog(t, open)
  await conformPut(t, open)
  await conformFiles(t, open)
})
