import type { LoaderTable } from '../../tables.js'
import { type Db, oneValue } from '../connection/database.js'
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

/** Returns the number of the last change of a table, 0 for an empty one. */
export function lastChange(db: Db, table: LoaderTable): number {
  const sql = `SELECT coalesce(max(${ROW_CHANGE}), 0) FROM ${tableSql(table)} WHERE ${ROW_CHANGE} IS NOT NULL`
  return Math.max(lastRowId(db, table), oneValue<number>(db, sql))
}

/** Returns the largest row id of a table, 0 for an empty one. */
export function lastRowId(db: Db, table: LoaderTable): number {
  return oneValue<number>(db, `SELECT coalesce(max(${ROW_ID}), 0) FROM ${tableSql(table)}`)
}
