import { isInfinite } from '../../../datetime.js'
import type { LoaderTable, Span } from '../../tables.js'
import type { TimedCellVisitor } from '../../themes.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { findCandidatesNow } from './candidates.js'
import { ROW_ID, tableSql } from './ddl.js'

type Row = [wkb: Uint8Array, level: number, startUs: bigint | null, endUs: bigint | null]

const PAGE_ROWS = 4096

/**
 * Visits the cells of a theme that are valid at some time of a span. Synchronous, for the search thread.
 *
 * @param levelColumn integer column of levels; rows without a level or a geometry are skipped
 */
export function readTimedCells(
  db: Db,
  table: LoaderTable,
  levelColumn: string,
  span: Span,
  visit: TimedCellVisitor,
): void {
  const level = `t.${identifier(levelColumn)}`
  const ids = findCandidatesNow(db, table, undefined, span)
  const read = statement<Row>(
    db,
    `SELECT t.location, CAST(${level} AS REAL), t.start_datetime, t.end_datetime
     FROM json_each(?) AS "wanted ids" CROSS JOIN ${tableSql(table)} AS t ON t.${ROW_ID} = "wanted ids".value
     WHERE t.location IS NOT NULL AND ${level} IS NOT NULL
     AND (t.start_datetime IS NULL OR t.start_datetime < ?) AND (t.end_datetime IS NULL OR t.end_datetime > ?)`,
  )
    .raw()
    .safeIntegers(true) // year 9999 does not fit a double
  for (let from = 0; from < ids.length; from += PAGE_ROWS) {
    const page = JSON.stringify(Array.from(ids.subarray(from, from + PAGE_ROWS)))
    for (const [wkb, value, startUs, endUs] of read.all(page, span.untilUs, span.fromUs))
      visit(wkb, value, finite(startUs), finite(endUs))
  }
}

/** An infinite start or end is an open one. */
function finite(us: bigint | null): bigint | null {
  return us === null || isInfinite(us) ? null : us
}
