import { addedColumnSql } from '../connection/column-sql.js'
import { type Db, forgetStatements } from '../connection/database.js'
import { versionNames } from '../tables/version-names.js'
import { triggersSql } from './history.js'
import type { VersionedTable } from './versioned-table.js'

/**
 * Lets former rows have the last columns of their table, which were just added. To be run in a transaction. Citations that were
 * made before keep the columns of then.
 */
export function addVersionColumns(db: Db, table: VersionedTable, count: number): void {
  const { history, trigger } = versionNames(table)
  for (const column of table.columns.slice(-count))
    db.exec(`ALTER TABLE ${history} ADD COLUMN ${addedColumnSql(column)}`)
  for (const event of ['update', 'delete'] as const) db.exec(`DROP TRIGGER ${trigger(event)}`)
  for (const sql of triggersSql(table)) db.exec(sql)
  forgetStatements(db, history)
}
