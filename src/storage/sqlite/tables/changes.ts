import { isInfinite, MAX_US, MIN_US } from '../../../datetime.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { findCandidatesNow } from './candidates.js'
import { dataVersionOf } from './catalog.js'
import { ROW_ID, tableSql } from './ddl.js'

/**
 * Most instants that are kept of a table: 10-minute slots of four months. A table of events has an instant
 * per row, and is not queried by slot.
 */
export const MAX_CHANGES = 20_000

/** Values of `loader_table.change_count` that are not a count. */
const UNKNOWN = -1
const TOO_MANY = -2

/**
 * Returns the instants at which rows of a table begin or end, ascending, µs UTC: between two of them the
 * valid rows are the same. Instants of rows that were overwritten are among them. They are read from the log
 * that writers keep; a table with rows that are older than the log is scanned.
 *
 * @returns undefined when there are more than `MAX_CHANGES`
 */
export function changeTimes(db: Db, table: LoaderTable): bigint[] | undefined {
  const count = changeCount(db, table)
  if (count === TOO_MANY) return undefined
  const times =
    count === UNKNOWN
      ? statement<bigint>(db, SCAN_SQL(tableSql(table)))
          .pluck()
          .safeIntegers(true) // year 9999 does not fit a double
          .all(MAX_CHANGES + 1)
      : statement<bigint>(db, 'SELECT at_us FROM loader_change WHERE table_id = ? ORDER BY at_us')
          .pluck()
          .safeIntegers(true)
          .all(table.tableId)
  return times.length > MAX_CHANGES ? undefined : times
}

const SCAN_SQL = (name: string): string =>
  `SELECT start_datetime AS at FROM ${name} WHERE start_datetime BETWEEN ${MIN_US} AND ${MAX_US}
   UNION SELECT end_datetime FROM ${name} WHERE end_datetime BETWEEN ${MIN_US} AND ${MAX_US} ORDER BY at LIMIT ?`

/** Instants of the rows of one call. */
interface ChangeLog {
  /** undefined when there are more than `MAX_CHANGES` */
  times: Set<bigint> | undefined
}

/** Creates the log of one call. */
export function createChangeLog(): ChangeLog {
  return { times: new Set() }
}

/** Adds an instant. @param us µs UTC; null or an infinity for an open start or end */
export function noteChange(log: ChangeLog, us: bigint | null): void {
  if (us === null || isInfinite(us) || log.times === undefined) return
  log.times.add(us)
  if (log.times.size > MAX_CHANGES) log.times = undefined
}

/** Stores the instants of a call: in its transaction, before the version of the table is incremented. */
export function keepChanges(db: Db, table: LoaderTable, { times }: ChangeLog): void {
  const before = changeCount(db, table)
  const isFirst = before === UNKNOWN && dataVersionOf(db, table) === 0
  if (before === TOO_MANY || (before === UNKNOWN && !isFirst)) return
  let count = isFirst ? 0 : before
  const insert = statement(db, 'INSERT OR IGNORE INTO loader_change (table_id, at_us) VALUES (?, ?)')
  for (const us of times ?? []) count += insert.run(table.tableId, us).changes
  if (times === undefined || count > MAX_CHANGES) {
    count = TOO_MANY
    statement(db, 'DELETE FROM loader_change WHERE table_id = ?').run(table.tableId)
  }
  if (count === before) return
  statement(db, 'UPDATE loader_table SET change_count = ? WHERE table_id = ?').run(count, table.tableId)
}

/** Instants that are not worth a look for those of rows that are gone. */
const FEW_CHANGES = 256
/** Most rows around the time of the oldest one that are looked at. */
const MAX_AROUND = 20_000

/**
 * Removes instants at which no row begins or ends any more, of before the time of the oldest row, so that a table of slots that
 * come and go keeps its log. To be run in a transaction, after the spatial index was cleaned. Cost: some milliseconds.
 *
 * @param oldestUs the least time by which the age of a row counts: its end, or its start where it has none
 */
export function pruneChanges(db: Db, table: LoaderTable, oldestUs: bigint): void {
  if (changeCount(db, table) < FEW_CHANGES) return
  // rows that end later may have begun before
  const around = findCandidatesNow(db, table, undefined, { fromUs: oldestUs, untilUs: oldestUs })
  if (around.length > MAX_AROUND) return
  const begun = `SELECT start_datetime FROM ${tableSql(table)} WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))
    AND start_datetime IS NOT NULL`
  const sql = `DELETE FROM loader_change WHERE table_id = ? AND at_us < ? AND at_us NOT IN (${begun})`
  const { changes } = statement(db, sql).run(table.tableId, oldestUs, JSON.stringify(Array.from(around)))
  const keep = 'UPDATE loader_table SET change_count = change_count - ? WHERE table_id = ?'
  statement(db, keep).run(changes, table.tableId)
}

function changeCount(db: Db, { tableId }: LoaderTable): number {
  const sql = 'SELECT change_count FROM loader_table WHERE table_id = ?'
  return statement<number>(db, sql).pluck().get(tableId) ?? UNKNOWN
}
