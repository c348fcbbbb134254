import { type PlaceRow, placeOf } from '../../records/place.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, oneValue, statement } from '../connection/database.js'
import { indexSql, ROW_ID, tableSql } from './ddl.js'
import {
  addEntry,
  appendPacked,
  createEntries,
  createPackBuffer,
  type Entries,
  isSamePlace,
  packEntries,
} from './entries.js'
import { boundsOf, cutRuns, RUN_ROWS } from './runs.js'

/*
 * Spatial index of a table: an R*Tree over runs of rows. A run is up to 256 rows that are close together; its
 * R*Tree row holds their common box (in space and time) and, as bytes, the id, box and days of each row. An
 * R*Tree row per table row would cost more than the rest of a load.
 *
 * The rows of one call become a segment of runs. Segments of similar size are merged eight at a time, so that
 * a table of a million rows has a dozen of them, each ordered along the Hilbert curve as a whole, and each
 * row is rewritten two or three times. A row that is overwritten with another location gets a second entry; a
 * merge removes the first. An entry is therefore a hint: the row itself is always tested.
 */

/** Most rows of a segment. Merging needs 32 bytes of memory per row, 8 MiB for this many. */
export const MAX_SEGMENT_ROWS = 262_144
/** Number of segments of similar size that are merged. */
const MERGE_COUNT = 8
/** Fewest segments to merge when not all of them fit. */
const MERGE_LEAST = 4

/**
 * Adds entries to a table's index and does the merges that are due. To be run in a transaction.
 *
 * @param maxMergeRows most rows that one merge may rewrite, about 0.7 µs each
 * @returns true when a larger merge is due
 */
export function addToIndex(db: Db, table: LoaderTable, entries: Entries, maxMergeRows: number): boolean {
  writeSegment(db, table, entries)
  while (mergeSegments(db, table, maxMergeRows));
  return findMerge(db, table, MAX_SEGMENT_ROWS) !== undefined
}

/**
 * Does one due merge, that of the smallest segments. To be run in a transaction.
 *
 * @returns false when none is due
 */
export function mergeSegments(db: Db, table: LoaderTable, maxRows: number): boolean {
  const due = findMerge(db, table, maxRows)
  if (due === undefined) return false
  const entries = createEntries(due.reduce((sum, segment) => sum + segment.row_count, 0))
  const read = statement<Uint8Array>(db, `SELECT entries FROM ${indexSql(table)} WHERE run_id = ?`).pluck()
  const remove = statement(db, `DELETE FROM ${indexSql(table)} WHERE run_id = ?`)
  const forget = statement(db, 'DELETE FROM loader_segment WHERE table_id = ? AND first_run = ?')
  let before = 0
  for (const segment of due) {
    for (let run = segment.first_run; run < segment.first_run + segment.run_count; run++) {
      const packed = read.get(run)
      if (packed === undefined) continue // all of its rows are gone
      appendPacked(entries, packed)
      remove.run(run)
    }
    requireRows(table, segment, entries.count - before)
    before = entries.count
    forget.run(table.tableId, segment.first_run)
  }
  const isStaleUseless = hasMovedRows(db, table) && !isVersioned(db, table)
  writeSegment(db, table, isStaleUseless ? withoutStale(db, table, entries) : entries)
  return true
}

/** @throws Error for a segment that has lost entries */
function requireRows(
  { tableName }: LoaderTable,
  { first_run: run, row_count: rows }: Segment,
  found: number,
): void {
  if (found === rows) return
  throw new Error(
    `the spatial index of ${tableName} is damaged: found ${found} entries from run ${run} on, expected ${rows}`,
  )
}

/** Memory in which runs are packed, used by all: SQLite copies each before the next. */
let pack: ReturnType<typeof createPackBuffer> | undefined

interface Segment {
  first_run: number
  run_count: number
  row_count: number
}

/** Writes entries as a new segment of runs, unless there are none. O(n log n), for the order of the curve. */
function writeSegment(db: Db, table: LoaderTable, entries: Entries): void {
  const insert = statement(
    db,
    `INSERT INTO ${indexSql(table)} (run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day, row_count, entries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  if (entries.count === 0) return
  const { order, cuts } = cutRuns(entries)
  pack ??= createPackBuffer(RUN_ROWS)
  const firstRun = takeRunIds(db, table, cuts.length - 1)
  for (let run = 0; run + 1 < cuts.length; run++) {
    const from = cuts[run] as number
    const to = cuts[run + 1] as number
    const bounds = boundsOf(entries, order, from, to)
    insert.run(firstRun + run, ...bounds, BigInt(to - from), packEntries(pack, entries, order, { from, to }))
  }
  statement(
    db,
    'INSERT INTO loader_segment (table_id, first_run, run_count, row_count) VALUES (?, ?, ?, ?)',
  ).run(table.tableId, firstRun, cuts.length - 1, entries.count)
}

/**
 * Reserves run ids. An id is never used again, so that a running search can distinguish merged runs from new
 * ones.
 */
function takeRunIds(db: Db, table: LoaderTable, count: number): number {
  const sql =
    'UPDATE loader_table SET next_run = next_run + @count WHERE table_id = @tableId RETURNING next_run - @count'
  return statement<number>(db, sql).pluck().get({ count, tableId: table.tableId }) as number
}

/** Finds at least eight segments of one size class, or as many of them as fit; the smallest class first. */
function findMerge(db: Db, table: LoaderTable, maxRows: number): Segment[] | undefined {
  const segments = statement<Segment>(
    db,
    'SELECT first_run, run_count, row_count FROM loader_segment WHERE table_id = ? AND row_count < ? ORDER BY row_count',
  ).all(table.tableId, MAX_SEGMENT_ROWS / 2)
  // a class spans a factor of 8 in rows, so that a merge of `MERGE_COUNT` segments enters the next class
  const classes = Map.groupBy(segments, ({ row_count: rows }) => Math.floor(Math.log2(rows) / 3))
  for (const members of classes.values()) {
    if (members.length < MERGE_COUNT) continue
    let rows = 0
    // smallest first, up to `maxRows` in sum
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
  return oneValue<number>(db, sql, table.tableId) > 0 // the table was found in this transaction
}

/** True when a citation may read former rows of the table, which it finds by their former entries. */
function isVersioned(db: Db, table: LoaderTable): boolean {
  const sql = 'SELECT 1 FROM versioned_table WHERE loader_table_id = ?'
  return statement<number>(db, sql).pluck().get(table.tableId) !== undefined
}

/** Returns the entries that are still those of their rows, each row once. */
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
    else fresh.count-- // the row has moved and has another entry
  }
  return fresh
}
