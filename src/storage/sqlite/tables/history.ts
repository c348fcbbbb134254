import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { versionNames } from './version-names.js'

/**
 * Returns the quoted name of the table that keeps the former rows of a loader table; undefined when none is
 * kept.
 */
export function findHistory(db: Db, { tableId, tableName }: LoaderTable): string | undefined {
  const sql = 'SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?'
  const versionedId = statement<number>(db, sql).pluck().get(tableId)
  return versionedId === undefined
    ? undefined
    : versionNames({ kind: 'loader', tableName, versionedId }).history
}
