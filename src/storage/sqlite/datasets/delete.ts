import type { TableState } from '../citations/plan.js'
import { matchingIds, type StateReading } from '../citations/state.js'
import { type VersionedTable, versionNames } from '../citations/versions.js'
import { type Db, statement } from '../connection/database.js'
import { ROW_ID } from '../tables/ddl.js'
import { beginTransaction, type FoundDataset } from './catalog.js'
import { spatialSlots, spatialSql } from './ddl.js'

/** The rows that a table has now. */
export function currentState(table: VersionedTable): TableState {
  return { table, tx: 'current', lastRowId: Number.MAX_SAFE_INTEGER, columns: table.columns }
}

/**
 * Deletes the current rows that match, in a transaction of the caller's.
 *
 * @param reading over the writing connection
 * @returns how many went
 * @throws AppError BAD_CONDITION
 */
export async function deleteDatasetRecords(
  reading: StateReading,
  { info, table }: FoundDataset,
  condition: unknown,
  nowUs: number,
): Promise<number> {
  const { db } = reading
  let deleted = 0
  for await (const ids of matchingIds(reading, currentState(table), condition)) {
    if (deleted === 0) {
      const tx = beginTransaction(db, nowUs)
      statement(db, 'UPDATE dataset SET last_tx = ? WHERE dataset_id = ?').run(tx, info.datasetId)
    }
    deleteRows(db, table, JSON.stringify(ids))
    deleted += ids.length
  }
  return deleted
}

/** @param ids JSON array */
function deleteRows(db: Db, table: VersionedTable, ids: string): void {
  const { current } = versionNames(table)
  statement(db, `DELETE FROM ${current} WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))`).run(ids)
  for (const slot of spatialSlots(table)) {
    const sql = spatialSql(table, slot)
    statement(db, sql.keep).run(ids) // what history the rows have is there by now
    statement(db, sql.remove).run(ids)
  }
}
