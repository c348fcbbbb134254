import type { LoaderTable } from '../../tables.js'
import { type Db, forgetStatements, identifier, statement } from '../connection/database.js'
import { tableSql } from '../tables/ddl.js'

/** SQL of the time by which the age of a row counts, µs UTC; null for a row without a time. */
export const AGE_TIME = 'coalesce(end_datetime, start_datetime)'

function indexName(table: Pick<LoaderTable, 'tableName'>): string {
  return identifier(`${table.tableName}_age`)
}

/** Builds the index of ages of a table, unless it has one. To be run in a transaction. Cost: 1 s for a million rows. */
export function buildAgeIndex(db: Db, table: LoaderTable): void {
  db.exec(`CREATE INDEX IF NOT EXISTS ${indexName(table)} ON ${tableSql(table)} (${AGE_TIME})`)
}

/** Removes the index of ages. To be run in a transaction. */
export function dropAgeIndex(db: Db, table: LoaderTable): void {
  forgetStatements(db, table.tableName)
  db.exec(`DROP INDEX IF EXISTS ${indexName(table)}`)
}

/** True for a table with an index of ages. */
export function hasAgeIndex(db: Db, table: LoaderTable): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?"
  return statement(db, sql).get(`${table.tableName}_age`) !== undefined
}
