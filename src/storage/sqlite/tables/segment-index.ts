import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { indexSql, ROW_ID, tableSql } from './ddl.js'
import { addEntry, appendPacked, createEntries, type Entries, isSamePlace, packEntries } from './entries.js'
import { type PlaceRow, placeOf } from './place.js'
import { boundsOf, cutRuns } from './runs.js'

/*
 * The spatial index of a table: an R*Tree over runs of rows instead of rows. A run is up to 256 rows that lie close
 * together; its R*Tree row holds the box around them (in space and time) and, as bytes, each row's own id, box and days.
 * A single R*Tree row for each table row would cost more than everything else together.
 *
 * What one call adds becomes a segment of runs of its own. Segments of like size are merged eight at a time, so a table
 * of a million rows has a dozen of them, each laid out along the Hilbert curve as a whole, and every row was rewritten
 * two or three times. A row that is overwritten elsewhere gets a second entry; the first goes at a merge. So an entry is
 * a hint: the row itself is always tested.
 */

/** A segment is never merged beyond this: merging needs 32 bytes a row of memory, here 8 MiB. */
export const MAX_SEGMENT_ROWS = 262_144
/** Merging is worth it from this many segments of like size on. */
const MERGE_COUNT = 8
/** Least number of segments to merge when not all of them fit. */
const MERGE_LEAST = 4

/**
 * Adds entries to a table's index and merges segments while that pays. Within a transaction.
 *
 * @param maxMergeRows rows that one merge may rewrite; about 0.7 µs each
 * @returns true when a larger merge is due
 */
export function addToIndex(db: Db, table: LoaderTable, entries: Entries, maxMergeRows: number): boolean {
  writeSegment(db, table, entries)
  while (mergeSegments(db, table, maxMergeRows));
  return findMerge(db, table, MAX_SEGMENT_ROWS) !== undefined
}

/** Merges the most pressing segments. Within a transaction. @returns false when none are due */
export function mergeSegments(db: Db, table: LoaderTable, maxRows: number): boolean {
  const due = findMerge(db, table, maxRows)
  if (due === undefined) return false
  const entries = createEntries(due.reduce((sum, segment) => sum + segment.row_count, 0))
  const read = statement<Uint8Array>(db, `SELECT entries FROM ${indexSql(table)} WHERE run_id = ?`).pluck()
  const remove = statement(db, `DELETE FROM ${indexSql(table)} WHERE run_id = ?`)
  const forget = statement(db, 'DELETE FROM loader_segment WHERE table_id = ? AND first_run = ?')
  for (const segment of due) {
    for (let run = segment.first_run; run < segment.first_run + segment.run_count; run++) {
      const packed = read.get(run)
      if (packed === undefined)
        throw new Error(`run ${run} of the spatial index of ${table.tableName} is gone`)
      appendPacked(entries, packed)
      remove.run(run)
    }
    forget.run(table.tableId, segment.first_run)
  }
  const isStaleUseless = hasMovedRows(db, table) && !isVersioned(db, table)
  writeSegment(db, table, isStaleUseless ? withoutStale(db, table, entries) : entries)
  return true
}

interface Segment {
  first_run: number
  run_count: number
  row_count: number
}

function writeSegment(db: Db, table: LoaderTable, entries: Entries): void {
  const insert = statement(
    db,
    `INSERT INTO ${indexSql(table)} (run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day, row_count, entries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  if (entries.count === 0) return
  const { order, cuts } = cutRuns(entries)
  const firstRun = takeRunIds(db, table, cuts.length - 1)
  for (let run = 0; run + 1 < cuts.length; run++) {
    const from = cuts[run] as number
    const to = cuts[run + 1] as number
    const bounds = boundsOf(entries, order, from, to)
    insert.run(firstRun + run, ...bounds, BigInt(to - from), packEntries(entries, order, from, to))
  }
  statement(
    db,
    'INSERT INTO loader_segment (table_id, first_run, run_count, row_count) VALUES (?, ?, ?, ?)',
  ).run(table.tableId, firstRun, cuts.length - 1, entries.count)
}

/** A run id is never given twice: a search that is under way can tell a run that was merged from a new one. */
function takeRunIds(db: Db, table: LoaderTable, count: number): number {
  const sql =
    'UPDATE loader_table SET next_run = next_run + @count WHERE table_id = @tableId RETURNING next_run - @count'
  return statement<number>(db, sql).pluck().get({ count, tableId: table.tableId }) as number
}

/** Segments of one size class, eight of them or as many as fit; the smallest class first. */
function findMerge(db: Db, table: LoaderTable, maxRows: number): Segment[] | undefined {
  const segments = statement<Segment>(
    db,
    'SELECT first_run, run_count, row_count FROM loader_segment WHERE table_id = ? AND row_count < ? ORDER BY row_count',
  ).all(table.tableId, MAX_SEGMENT_ROWS / 2)
  const classes = Map.groupBy(segments, ({ row_count: rows }) => Math.floor(Math.log2(rows) / 3))
  for (const members of classes.values()) {
    if (members.length < MERGE_COUNT) continue
    let rows = 0
    const fitting = members.filter((segment) => {
      rows += segment.row_count
      return rows <= maxRows
    })
    if (fitting.length >= MERGE_LEAST) return fitting
  }
  return undefined
}

function hasMovedRows(db: Db, table: LoaderTable): boolean {
  const sql = 'SELECT moved_rows FROM loader_table WHERE table_id = ?'
  return (statement<number>(db, sql).pluck().get(table.tableId) ?? 0) > 0
}

/** A citation reads rows where they once were: their former entries lead it there. */
function isVersioned(db: Db, table: LoaderTable): boolean {
  const sql = 'SELECT 1 FROM versioned_table WHERE loader_table_id = ?'
  return statement<number>(db, sql).pluck().get(table.tableId) !== undefined
}

/** Entries that still tell their row's place, each row once. */
function withoutStale(db: Db, table: LoaderTable, entries: Entries): Entries {
  const find = statement<PlaceRow>(
    db,
    `SELECT location, start_datetime, end_datetime FROM ${tableSql(table)} WHERE ${ROW_ID} = ?`,
  ).safeIntegers()
  const fresh = createEntries(entries.count)
  const seen = new Set<number>()
  for (let at = 0; at < entries.count; at++) {
    const rowId = entries.ids[at] as number
    const row = seen.has(rowId) ? undefined : find.get(rowId)
    if (row === undefined) continue
    addEntry(fresh, rowId, ...placeOf(row))
    if (isSamePlace(entries, at, fresh, fresh.count - 1)) seen.add(rowId)
    else fresh.count-- // it has moved, and another entry tells where
  }
  return fresh
}
