import type { ReadOptions } from '../../datasets/states.js'
import { type Db, statement } from '../connection/database.js'
import { ROW_ID } from '../tables/ddl.js'
import { versionNames } from '../tables/version-names.js'
import { matchingIds } from '../versions/read-state.js'
import { beginTransaction } from '../versions/transactions.js'
import { currentState, type VersionedTable } from '../versions/versioned-table.js'
import type { FoundDataset } from './catalog.js'
import { spatialSlots, spatialSql } from './ddl.js'

interface DeleteOptions extends ReadOptions {
  /** condition of a caller, not yet checked; undefined for every row */
  readonly condition: unknown
  /** µs UTC */
  readonly nowUs: number
}

/**
 * Deletes the current rows that match. To be called within a transaction.
 *
 * @param db the writing connection
 * @returns rows deleted
 * @throws AppError BAD_CONDITION
 */
export async function deleteDatasetRecords(
  db: Db,
  { info, table }: FoundDataset,
  options: DeleteOptions,
): Promise<number> {
  let deleted = 0
  for await (const ids of matchingIds({ ...options, db }, currentState(table), options.condition)) {
    if (deleted === 0) {
      const tx = beginTransaction(db, options.nowUs)
      statement(db, 'UPDATE dataset SET last_tx = ? WHERE dataset_id = ?').run(tx, info.datasetId)
    }
    deleteRows(db, table, JSON.stringify(ids))
    deleted += ids.length
  }
  return deleted
}

/** @param ids JSON array of row ids */
function deleteRows(db: Db, table: VersionedTable, ids: string): void {
  const { current } = versionNames(table)
  statement(db, `DELETE FROM ${current} WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))`).run(ids)
  for (const slot of spatialSlots(table)) {
    const sql = spatialSql(table, slot)
    statement(db, sql.keep).run(ids) // the triggers of the deletion have filled the history by now
    statement(db, sql.remove).run(ids)
  }
}
