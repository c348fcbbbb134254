import type { ValueEnv } from '../../columns/column-type.js'
import type { LoaderTable, QueryPaths, TableQuery } from '../../tables.js'
import type { Db } from '../connection/database.js'
import { statement } from '../connection/database.js'
import { ROW_ID, tableSql } from './ddl.js'
import { planQuery } from './query.js'
import { createReaderPause, matchesById } from './reader.js'

/** Rows that are looked at in one step. */
const STEP_ROWS = 1000

/**
 * How many rows of a table match; the query's order and limits mean nothing here.
 *
 * @throws AppError BAD_CONDITION, CANCELLED
 */
export async function countTable(
  db: Db,
  table: LoaderTable,
  query: TableQuery,
  env: ValueEnv,
  paths: QueryPaths,
  signal?: AbortSignal,
): Promise<number> {
  const plan = planQuery(db, table, query, env, paths)
  try {
    if (plan.box === 'empty') return 0
    if (plan.where === '1' && plan.box === undefined) return countAll(db, table)
    let count = 0
    const select = `t.${ROW_ID}, ${query.area === undefined ? 'NULL' : 't.location'}`
    const pages = matchesById<[bigint, Uint8Array | null]>(
      db,
      plan,
      select,
      STEP_ROWS,
      createReaderPause(signal),
    )
    for await (const rows of pages) count += rows.length
    return count
  } finally {
    plan.release()
  }
}

/** Along the unique key's index, the narrowest that there is: some 8 ms for a million rows. */
function countAll(db: Db, table: LoaderTable): number {
  return (
    statement<number>(db, `SELECT count(*) FROM ${tableSql(table)}`)
      .pluck()
      .get() ?? 0
  )
}
