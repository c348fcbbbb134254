import type { LoaderTable } from '../../tables.js'
import { type Db, oneValue, statement } from '../connection/database.js'
import { ROW_CHANGE, ROW_ID, tableSql } from './ddl.js'

/**
 * Numbers that one writer gives to the rows of a table. Every put and override has a number of its own, larger
 * than all before it in the table, so that what changed since a number can be read (`changed-rows.ts`). A row
 * keeps the number of its last change. As long as nothing was overwritten the numbers are the row ids, and
 * nothing is stored for them.
 */
export interface ChangeNumbers {
  /** Returns the id for the next new row. */
  nextRow(): number
  /** Returns what is stored as the number of that row: null where it is its id. */
  ofRow(): number | null
  /** Takes the id and the number, after the row was stored. */
  takeRow(): void
  /** Takes the number of an override. */
  takeOverride(): number
  /** Returns the number that was taken last. */
  last(): number
}

/**
 * Creates the numbers of a writer. The caller has begun a transaction, and nobody else writes the table
 * during it. Cost: two searches of an index.
 */
export function createChangeNumbers(db: Db, table: LoaderTable): ChangeNumbers {
  let row = lastRowId(db, table)
  let change = lastChange(db, table)
  const nextChange = () => change + 1
  return {
    nextRow: () => row + 1,
    ofRow: () => (nextChange() === row + 1 ? null : nextChange()),
    takeRow() {
      row++
      change++
    },
    takeOverride: () => ++change,
    last: () => change,
  }
}

/** Returns the number of the last change of a table, also of a row that is gone; 0 where nothing was put. */
export function lastChange(db: Db, table: LoaderTable): number {
  const sql = `SELECT max(coalesce((SELECT max(${ROW_CHANGE}) FROM ${tableSql(table)} WHERE ${ROW_CHANGE} IS NOT NULL), 0),
    coalesce((SELECT last_change FROM loader_table WHERE table_id = ?), 0))`
  return Math.max(lastRowId(db, table), oneValue<number>(db, sql, table.tableId))
}

/** Returns the largest row id that a table has given, also to a row that is gone; 0 where nothing was put. */
export function lastRowId(db: Db, table: LoaderTable): number {
  const sql = `SELECT max(coalesce((SELECT max(${ROW_ID}) FROM ${tableSql(table)}), 0),
    coalesce((SELECT last_row FROM loader_table WHERE table_id = ?), 0))`
  return oneValue<number>(db, sql, table.tableId)
}

/** Returns the smallest row id of a table; 1 for an empty one. Every row before it is gone. */
export function firstRowId(db: Db, table: LoaderTable): number {
  return oneValue<number>(db, `SELECT coalesce(min(${ROW_ID}), 1) FROM ${tableSql(table)}`)
}

/** Notes which numbers were given, before rows are removed. To be run in a transaction. */
export function keepNumbers(db: Db, table: LoaderTable): void {
  const sql = 'UPDATE loader_table SET last_row = ?, last_change = ? WHERE table_id = ?'
  statement(db, sql).run(lastRowId(db, table), lastChange(db, table), table.tableId)
}
