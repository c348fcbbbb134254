import type { Stored } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import type { Pause } from '../../pause.js'
import type { Column, TableQuery } from '../../tables.js'
import { sortValueSql } from '../connection/column-sql.js'
import { type Db, identifier, oneValue, statement } from '../connection/database.js'
import { findCandidates, findCandidatesOrNowhere, type RowIds } from './candidates.js'
import { ROW_ID, tableSql } from './ddl.js'
import { byIdsSql, byKeySql, type QueryPlan, windowSql } from './query.js'
import { createSorter } from './sort.js'

/**
 * A selected row: id and location first, because the exact test of an area needs them, then the selected
 * columns.
 */
export type MatchRow = [rowId: bigint, location: Uint8Array | null, ...columns: Stored[]]

/** Pages of a window when a condition may leave few rows of it. */
const WINDOW_PAGES = 10
/** Most rows of one key value that are read by the unique index; a scan of the table is quicker for more. */
const MAX_KEY_ROWS = 100_000

/** Parameters of reading matching rows. */
export interface MatchReading {
  readonly db: Db
  readonly plan: QueryPlan
  /** list of SQL over the table's alias `t`, id and location first */
  readonly select: string
  /** rows of a page */
  readonly pageRows: number
  readonly pause: Pause
}

/**
 * Reads matching rows in the order of their ids, page by page; the last page first when the query reads from
 * the end.
 */
export async function* matchesById({
  db,
  plan,
  select,
  pageRows,
  pause,
}: MatchReading): AsyncGenerator<MatchRow[]> {
  const found = await candidateIds(db, plan, pause)
  if (found === undefined) {
    for (const rows of readWindows(db, plan, select, pageRows)) {
      await pause()
      yield rows
    }
    return
  }
  const ids = idsBetween(found, plan.query)
  const read = db.prepare<unknown[], MatchRow>(byIdsSql(plan, select)).raw().safeIntegers()
  for (let done = 0; done < ids.length; done += pageRows) {
    await pause()
    const page =
      plan.query.isFromEnd === true
        ? ids.subarray(Math.max(0, ids.length - done - pageRows), ids.length - done)
        : ids.subarray(done, done + pageRows)
    yield withinArea(plan, read.all(idsJson(page), ...plan.params))
  }
}

/**
 * Reads matching rows in the order of the query, page by page: ids and sort keys of all rows first, then the
 * rows of each page. Memory grows with the number of matching rows, or with `offset + limit` when that is
 * less.
 *
 * @param scanRows rows of a page while keys are read
 */
export async function* matchesSorted(
  { db, plan, select, pageRows, pause }: MatchReading,
  scanRows: number,
): AsyncGenerator<MatchRow[]> {
  const { offset = 0, limit = Infinity } = plan.query
  const sorter = createSorter(
    plan.order.map((term) => term.isDescending),
    offset + limit,
  )
  const keys = plan.order.map(({ column }) => sortSql(plan.table.columnByName.get(column)))
  const location = plan.query.area === undefined ? 'NULL' : 't.location'
  const selectKeys = [`t.${ROW_ID}`, location, ...keys].join(', ')
  const add = (rows: MatchRow[]) => {
    for (const [id, , ...row] of rows) sorter.add({ rowId: Number(id), keys: row })
  }
  const ids = await candidateIds(db, plan, pause)
  if (ids === undefined) {
    for (const rows of readWindows(db, plan, selectKeys, scanRows)) {
      add(rows)
      await pause()
    }
  } else {
    const read = db.prepare<unknown[], MatchRow>(byIdsSql(plan, selectKeys)).raw().safeIntegers()
    for (let from = 0; from < ids.length; from += scanRows) {
      add(withinArea(plan, read.all(idsJson(ids.subarray(from, from + scanRows)), ...plan.params)))
      await pause()
    }
  }
  for (let skip = offset; skip > 0; skip -= scanRows) {
    sorter.take(Math.min(skip, scanRows))
    await pause()
  }
  const sql = byIdsSql({ ...plan, where: '1' }, select)
  const read = db.prepare<unknown[], MatchRow>(sql).raw().safeIntegers()
  for (let page = sorter.take(pageRows); page.length > 0; page = sorter.take(pageRows)) {
    yield read.all(JSON.stringify(page))
  }
}

/** Returns the ids of rows that may match, ascending; undefined when the table is better scanned. */
async function candidateIds(db: Db, plan: QueryPlan, pause: Pause): Promise<RowIds | undefined> {
  const { box, table, query } = plan
  if (box !== undefined || query.span !== undefined) {
    const find = query.isNowhereIn === true ? findCandidatesOrNowhere : findCandidates
    // no test: readings of an empty box end before this
    const steps = find(db, table, box === 'empty' ? undefined : box, query.span)
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
      await pause()
    }
  }
  if (plan.key.length === 0) return undefined
  const values = plan.key.map(({ value }) => value)
  const ids = statement<number>(db, byKeySql(plan))
    .pluck()
    .all(...values, MAX_KEY_ROWS + 1)
  return ids.length > MAX_KEY_ROWS ? undefined : Float64Array.from(ids).sort()
}

/**
 * Scans the table in id order. The scan is cut into windows of ids, so that a condition that few rows satisfy
 * does not block the event loop.
 */
function* readWindows(db: Db, plan: QueryPlan, select: string, pageRows: number): Generator<MatchRow[]> {
  const newest = oneValue<number>(db, `SELECT coalesce(max(${ROW_ID}), 0) FROM ${tableSql(plan.table)}`)
  const { afterId = 0, beforeId = Infinity, isFromEnd = false } = plan.query
  const last = Math.min(newest, beforeId - 1)
  const read = db.prepare<unknown[], MatchRow>(windowSql(plan, select)).raw().safeIntegers()
  if (isFromEnd) {
    for (let until = last; until > afterId; until -= pageRows)
      yield read.all(Math.max(afterId, until - pageRows), until, ...plan.params, pageRows)
    return
  }
  const windowRows = plan.where === '1' ? pageRows : pageRows * WINDOW_PAGES
  for (let after = afterId; after < last; ) {
    const until = Math.min(last, after + windowRows)
    const rows = read.all(after, until, ...plan.params, pageRows)
    const lastRow = rows.at(-1)
    after = rows.length === pageRows && lastRow !== undefined ? Number(lastRow[0]) : until
    yield rows
  }
}

/** Returns the part of some ascending ids that lies between those a query names. */
function idsBetween(ids: RowIds, { afterId = 0, beforeId = Infinity }: TableQuery): RowIds {
  const from = ids.findIndex((id) => id > afterId)
  const to = ids.findLastIndex((id) => id < beforeId)
  return from < 0 ? ids.subarray(0, 0) : ids.subarray(from, to + 1)
}

/** Filters rows by the exact area: the index holds boxes in single precision only. */
function withinArea(plan: QueryPlan, rows: MatchRow[]): MatchRow[] {
  const { area, isNowhereIn = false } = plan.query
  if (area === undefined) return rows
  return rows.filter(([, wkb]) => (wkb === null ? isNowhereIn : area.intersectsWkb(wkb)))
}

/** Returns SQL whose values compare in JavaScript as the column compares in SQLite. */
function sortSql(column: Column | undefined): string {
  if (column === undefined) return 'NULL' // no test: planQuery refuses unknown columns
  return sortValueSql(typeOf(column.udtName).order, `t.${identifier(column.name)}`)
}

/**
 * Ids as one text to bind: `json_each` takes any number of ids in one cached statement, and keeps their
 * order.
 */
function idsJson(ids: RowIds): string {
  return JSON.stringify(Array.from(ids))
}
