import type { AddColumns } from '../../add-columns.js'
import { typeOf } from '../../columns/column-types.js'
import { requireNew } from '../../records/catalog-row.js'
import { type Column, type LoaderTable, RESERVED_COLUMNS } from '../../tables.js'
import { addedColumnSql } from '../connection/column-sql.js'
import type { DataDb } from '../connection/data-db.js'
import { type Db, forgetStatements, retryBusy, statement, transaction } from '../connection/database.js'
import { findTableById } from '../tables/catalog.js'
import { tableSql } from '../tables/ddl.js'
import { forgetRemovedSums, isCounted, restartCounting } from '../tables/row-digests.js'
import { requireTable } from '../tables/store.js'
import { addVersionColumns } from './added-columns.js'
import { versionedLoader } from './versioned-table.js'

/** Creates what adds columns to the tables of `data.db`, also to the former rows that citations see. */
export function createAddColumns({ writer, lock }: Pick<DataDb, 'writer' | 'lock'>): AddColumns {
  return (table, columns) =>
    lock.run(() =>
      retryBusy(() => transaction(writer, () => addColumns(writer, requireTable(writer, table), columns))),
    )
}

/**
 * Adds columns without values to a table. To be run in a transaction. The rows stay as they are stored; those of a table with
 * feeds are counted again in the background, because their digests have more values now.
 *
 * @param columns nullable, without defaults; their definitions have been checked
 * @throws AppError INVALID_PARAMS for a name that the table has, also in other case
 */
function addColumns(db: Db, table: LoaderTable, columns: readonly Column[]): LoaderTable {
  requireNew(table.columns, columns)
  for (const { name, udtName, isEncrypted } of columns)
    db.exec(
      `ALTER TABLE ${tableSql(table)} ADD COLUMN ${addedColumnSql({ name, type: typeOf(udtName), isEncrypted })}`,
    )
  const all = [...table.columns.slice(RESERVED_COLUMNS.length), ...columns]
  statement(
    db,
    'UPDATE loader_table SET columns = ?, data_version = data_version + 1 WHERE table_id = ?',
  ).run(JSON.stringify(all), table.tableId)
  forgetStatements(db, table.tableName)
  const now = findTableById(db, table.tableId)
  if (now === undefined) throw new Error(`the table ${table.dataName} is gone`) // no test: its row was just written
  const versionedId = statement<number>(
    db,
    'SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?',
  )
    .pluck()
    .get(table.tableId)
  if (versionedId !== undefined) addVersionColumns(db, versionedLoader(now, versionedId), columns.length)
  if (isCounted(db, table)) restartCounting(db, table)
  forgetRemovedSums(db, table)
  return now
}
