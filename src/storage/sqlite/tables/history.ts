import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'

/**
 * First part of the names of all tables that keep the former rows of a loader table for citations.
 *
 * @param versionedId id of the table among those whose states can be cited
 */
export function historyStem(tableName: string, versionedId: number): string {
  return `${tableName}_${versionedId}`
}

/** Returns the quoted name of the table that keeps the former rows of a loader table; undefined when none is kept. */
export function findHistory(db: Db, { tableId, tableName }: LoaderTable): string | undefined {
  const sql = 'SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?'
  const versionedId = statement<number>(db, sql).pluck().get(tableId)
  return versionedId === undefined ? undefined : identifier(`${historyStem(tableName, versionedId)}_history`)
}
