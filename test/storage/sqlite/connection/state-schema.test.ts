import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import t from 'tap'
import { openStateDb } from '../../../../src/storage/sqlite/connection/state-db.js'
import * as schema from '../../../../src/storage/sqlite/connection/state-schema.js'

interface TableInfo {
  name: string
  type: string
  notnull: 0 | 1
  pk: number
}

t.test('state-schema: drizzle sees the tables as the migrations make them', async (t) => {
  const { db } = await openStateDb(':memory:')
  t.teardown(() => db.close())
  for (const table of Object.values(schema) as SQLiteTable[]) {
    const name = getTableName(table)
    const made = db.pragma(`table_info(${name})`) as TableInfo[]
    const seen = Object.values(getTableColumns(table)).map((column: SQLiteColumn) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      notnull: column.notNull ? 1 : 0,
      pk: column.primary ? 1 : 0,
    }))
    t.same(
      made.map(({ name, type, notnull, pk }) => ({ name, type, notnull: pk > 0 ? 1 : notnull, pk })),
      seen,
      name,
    )
  }
})

t.test('state-schema: no table of state.db is left out, and each is STRICT', async (t) => {
  const { db } = await openStateDb(':memory:')
  t.teardown(() => db.close())
  const tables = db.pragma('table_list') as { schema: string; name: string; strict: 0 | 1 }[]
  const ours = tables.filter((table) => table.schema === 'main' && !table.name.startsWith('sqlite_'))
  t.same(
    ours.filter((table) => table.strict === 0).map((table) => table.name),
    [],
    'all are STRICT',
  )
  const known = (Object.values(schema) as SQLiteTable[]).map(getTableName)
  t.same(
    known.filter((name) => !ours.some((table) => table.name === name)),
    [],
    'what drizzle sees is there',
  )
})
