import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { bumpDataVersion } from '../tables/catalog.js'
import { keepNumbers } from '../tables/change-numbers.js'
import { ROW_ID, tableSql } from '../tables/ddl.js'
import { removeCounted } from '../tables/row-digests.js'
import { versionNames } from '../tables/version-names.js'

const WANTED = `${ROW_ID} IN (SELECT value FROM json_each(?))`

/**
 * Removes rows of a table. To be run in a transaction. Citations keep what they see; the entries of the spatial index stay until
 * `cleanRuns`, and the bytes of files until the next sweep. Cost: 10 µs a row, and 6 µs more where it is counted.
 *
 * @param rowIds ids of rows of the table
 */
export function removeRows(db: Db, table: LoaderTable, rowIds: readonly number[]): void {
  if (rowIds.length === 0) return
  const ids = JSON.stringify(rowIds)
  keepNumbers(db, table)
  removeCounted(db, table, ids, () => {
    statement(db, `DELETE FROM ${tableSql(table)} WHERE ${WANTED}`).run(ids)
  })
  forgetUnseen(db, table, ids)
  const count = rowIds.length
  statement(db, 'UPDATE loader_table SET removed_rows = removed_rows + ? WHERE table_id = ?').run(
    count,
    table.tableId,
  )
  statement(db, 'UPDATE loader_retention SET rows = rows - ? WHERE table_id = ?').run(count, table.tableId)
  bumpDataVersion(db, table)
}

/**
 * Removes what a cited table keeps of rows that are gone: their last changes, and former rows that came after every citation. The
 * triggers keep those, too, because rows carry no transaction.
 */
function forgetUnseen(db: Db, { tableId, tableName }: LoaderTable, ids: string): void {
  const sql = 'SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?'
  const versionedId = statement<number>(db, sql).pluck().get(tableId)
  if (versionedId === undefined) return
  const { since, history, gone } = versionNames({ kind: 'loader', tableName, versionedId })
  statement(db, `DELETE FROM ${since} WHERE ${WANTED}`).run(ids)
  const isUnseen = `${ROW_ID} > (SELECT coalesce(max(last_row_id), 0) FROM citation WHERE versioned_id = ?)`
  for (const name of [history, gone])
    statement(db, `DELETE FROM ${name} WHERE ${WANTED} AND ${isUnseen}`).run(ids, versionedId)
}
