import { droppedMeanwhile } from '../../records/read-records.js'
import type { TableRef } from '../../tables.js'
import type { Attempt, Rows } from '../connection/database.js'

/** State that each write of a table changes. Who has locked it is the only writer of the table until the commit. */
export interface TableState {
  readonly columnCount: number
  /** largest row id that was given */
  readonly lastRow: number
  /** number of the last change */
  readonly lastChange: number
  /** changes up to it are in the sums of digests; null for a table without sums */
  readonly counted: number | null
  /** instants at which rows begin or end; `TOO_MANY_TIMES` when they are not kept */
  readonly timeCount: number
}

/** Value of `timeCount` for a table whose instants are too many to keep. */
export const TOO_MANY_TIMES = -1

/**
 * Settings of the transaction: its statements are planned for the rows that they get and for the table as it is now,
 * and search an index for each row. Else a plan of when the table was small reads all of it later, and one without
 * statistics reads all of it up to a hundred thousand rows.
 */
const PLANNING = [
  `set_config('plan_cache_mode', 'force_custom_plan', true)`,
  ...['seqscan', 'hashjoin', 'mergejoin', 'material'].map(
    (way) => `set_config('enable_${way}', 'off', true)`,
  ),
].join(', ')

/** Returns the statement that locks a table, for `WriteOptions.first`: it takes no round trip of its own there. */
export function lockSql({ tableId }: Pick<TableRef, 'tableId'>): string {
  return `SELECT column_count AS "columnCount", last_row AS "lastRow", last_change AS "lastChange", counted,
    time_count AS "timeCount", ${PLANNING}
    FROM loader_state WHERE table_id = ${tableId} FOR NO KEY UPDATE`
}

/** Returns the state that `lockSql` has read at the beginning. @throws AppError UNKNOWN_TABLE */
export function lockedState(table: TableRef, { first }: Pick<Attempt, 'first'>): TableState {
  if (first === undefined) throw droppedMeanwhile(table.dataName)
  const { columnCount, lastRow, lastChange, counted, timeCount } = first as unknown as TableState // of `lockSql`
  return { columnCount, lastRow, lastChange, counted, timeCount }
}

/**
 * Locks a table in a transaction that has begun. Nothing of the table may have been read in it before: what was
 * committed meanwhile would be missing.
 *
 * @throws AppError UNKNOWN_TABLE
 */
export async function lockTable(rows: Rows, table: TableRef): Promise<TableState> {
  return lockedState(table, { first: await rows.get(lockSql(table)) })
}
