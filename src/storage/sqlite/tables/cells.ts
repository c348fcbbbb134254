import type { LoaderTable } from '../../tables.js'
import type { CellVisitor } from '../../themes.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { findCandidatesNow } from './candidates.js'
import { ROW_ID, tableSql } from './ddl.js'

/** Rows of one statement. With `BULK_BYTES` it limits the memory of a page. */
const PAGE_ROWS = 4096
/** Largest geometry that is read together with others; a mesh square has 93 bytes. */
const BULK_BYTES = 2048

/**
 * Visits the cells of a theme that are valid at an instant: start ≤ instant < end. Synchronous, for the
 * search thread.
 *
 * Most geometries of a page are read as one concatenated value: a value for each would take four times as
 * long as the rest of the work.
 *
 * @param levelColumn integer column of levels; rows without a level or a geometry are skipped
 * @param instantUs µs UTC
 * @param visit receives views that are valid during the call
 */
export function readCells(
  db: Db,
  table: LoaderTable,
  levelColumn: string,
  instantUs: bigint,
  visit: CellVisitor,
): void {
  const span = { fromUs: instantUs, untilUs: instantUs + 1n }
  const ids = findCandidatesNow(db, table, undefined, span)
  const level = `t.${identifier(levelColumn)}`
  const from = `FROM json_each(?) AS "wanted ids" CROSS JOIN ${tableSql(table)} AS t ON t.${ROW_ID} = "wanted ids".value
     WHERE ${SPAN_SQL} AND t.location IS NOT NULL AND ${level} IS NOT NULL`
  const isSmall = `length(t.location) <= ${BULK_BYTES}`
  // the conversions of blob to text and back copy the bytes, because the encoding of the database is UTF-8
  const readSmall = statement<Page>(
    db,
    `SELECT CAST(group_concat(t.location, '') FILTER (WHERE ${isSmall}) AS BLOB),
       group_concat(length(t.location)) FILTER (WHERE ${isSmall}),
       group_concat(${level}) FILTER (WHERE ${isSmall}),
       count(*) FILTER (WHERE NOT ${isSmall}) ${from}`,
  ).raw()
  const readLarge = statement<[Uint8Array, number]>(
    db,
    `SELECT t.location, CAST(${level} AS REAL) ${from} AND NOT ${isSmall}`,
  ).raw()
  for (let at = 0; at < ids.length; at += PAGE_ROWS) {
    const params = [
      JSON.stringify(Array.from(ids.subarray(at, at + PAGE_ROWS))),
      instantUs,
      instantUs,
      instantUs,
    ]
    const [wkbs, lengths, levels, largeCount] = readSmall.get(...params) as Page
    visitPage(wkbs, lengths, levels, visit)
    if (largeCount === 0) continue
    for (const [wkb, value] of readLarge.all(...params)) visit(wkb, value)
  }
}

/**
 * A row whose start equals its end counts as that instant, as in queries of tables. Bound: the instant, three
 * times.
 */
const SPAN_SQL = `(t.start_datetime IS NULL OR t.start_datetime <= ?) AND (t.end_datetime IS NULL OR t.end_datetime > ?
  OR (t.end_datetime = t.start_datetime AND t.start_datetime >= ?))`

/**
 * Concatenated geometries, their lengths and their levels in one order, null when there are none; number of
 * large ones.
 */
type Page = [wkbs: Uint8Array | null, lengths: string | null, levels: string | null, largeCount: number]

function visitPage(
  wkbs: Uint8Array | null,
  lengthText: string | null,
  levelText: string | null,
  visit: CellVisitor,
): void {
  if (wkbs === null) return
  const lengths = JSON.parse(`[${lengthText}]`) as number[]
  const levels = JSON.parse(`[${levelText}]`) as number[]
  let at = 0
  for (const [row, length] of lengths.entries()) {
    visit(new Uint8Array(wkbs.buffer, wkbs.byteOffset + at, length), levels[row] as number)
    at += length
  }
  // no test: SQLite would have to concatenate wrongly
  if (at !== wkbs.length || lengths.length !== levels.length) {
    throw new Error(
      `found ${wkbs.length} bytes of ${lengths.length} cells, expected ${at} of ${levels.length}`,
    )
  }
}
