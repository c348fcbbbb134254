import { typeOf } from '../../columns/column-types.js'
import type { SelectedRow } from '../../records/print-rows.js'
import { readableColumns } from '../../records/readable-columns.js'
import type { LoaderTable, TableQuery } from '../../tables.js'
import type { Pause } from '../../work/pause.js'
import { sortValueSql } from '../connection/column-sql.js'
import { type Db, oneValue, statement } from '../connection/database.js'
import { readByIds, readSome } from '../connection/read-some.js'
import { checkGuard } from '../connection/sql-functions.js'
import { findCandidates, findCandidatesOrNowhere, type RowIds } from './candidates.js'
import { firstRowId } from './change-numbers.js'
import { ROW_ID, tableSql } from './ddl.js'
import { readableSql } from './origins.js'
import { byIdsSql, byKeySql, firstOfWindowSql, type QueryPlan, windowSql } from './query.js'
import { createSorter, takeSorted } from './sort.js'

export type MatchRow = SelectedRow

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
  const read = readingByIds(db, plan, select)
  const paging = { maxRows: pageRows, keep: areaTest(db, plan) }
  const paramsOf = (json: string) => [json, ...plan.params]
  if (plan.query.isFromEnd !== true) {
    for (const rows of readByIds<MatchRow>(read, ids, paramsOf, paging)) {
      await pause()
      yield rows
    }
    return
  }
  for (let end = ids.length; end > 0; end -= pageRows) {
    await pause()
    const page = ids.subarray(Math.max(0, end - pageRows), end)
    yield [...readByIds<MatchRow>(read, page, paramsOf, paging)].flat() // ids alone: see `lastMatches`
  }
}

/** Prepares the reading of rows by their ids. The texts of conditions and of chosen columns have no bound. */
function readingByIds(db: Db, plan: QueryPlan, select: string) {
  const { columns = [] } = plan.query
  const sql = byIdsSql(plan, select)
  const isKept = plan.where === '1' && columns.length === 0
  const read = isKept ? statement<MatchRow>(db, sql) : db.prepare<unknown[], MatchRow>(sql)
  return read.raw().safeIntegers()
}

/**
 * Reads the last matching rows, ascending, page by page: their ids first, because rows that are collected
 * until the first one is known could fill the memory.
 */
export async function* lastMatches(reading: MatchReading): AsyncGenerator<MatchRow[]> {
  const { db, plan, pageRows, pause } = reading
  const { limit = Infinity } = plan.query
  const ids: number[] = []
  for await (const rows of matchesById({ ...reading, select: idSelect(plan), pageRows: COUNT_ROWS })) {
    for (const [id] of rows.toReversed()) ids.push(Number(id))
    if (ids.length >= limit) break
  }
  const last = ids.slice(0, limit).reverse()
  const read = db
    .prepare<unknown[], MatchRow>(byIdsSql(wholePlan(plan), reading.select))
    .raw()
    .safeIntegers()
  for (const rows of readByIds<MatchRow>(read, last, (json) => [json], { maxRows: pageRows })) {
    await pause()
    yield rows
  }
}

/** Returns the list of SQL for reading ids: the location beside them only where it is tested. */
export function idSelect({ query }: QueryPlan): string {
  return `t.${ROW_ID}, ${query.area === undefined ? 'NULL' : 't.location'}`
}

/** Returns the plan for rows that are known to match. */
function wholePlan(plan: QueryPlan): QueryPlan {
  return { ...plan, where: '1' }
}

/** Rows of one step that reads ids alone. */
export const COUNT_ROWS = 1000

/**
 * Reads matching rows in the order of the query, page by page: ids and sort keys of all rows first, then the
 * rows of each page. The memory of the keys is bounded; the table is scanned again for rows that do not fit.
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
  const keys = plan.order.map(({ column }) => sortSql(plan.table, column))
  const location = plan.query.area === undefined ? 'NULL' : 't.location'
  const selectKeys = [`t.${ROW_ID}`, location, ...keys].join(', ')
  const add = (rows: MatchRow[]) => {
    for (const [id, , ...row] of rows) sorter.add({ rowId: Number(id), keys: row })
  }
  const ids = await candidateIds(db, plan, pause)
  const isFew = ids === undefined && offset + limit <= MOST_FIRST && hasNumberKeys(plan)
  const pages = isFew
    ? () => firstOfWindows(db, plan, { select: selectKeys, keys, most: offset + limit }, scanRows)
    : () => keyPages(db, plan, ids, { select: selectKeys, scanRows })
  const scan = async () => {
    for (const rows of pages()) {
      add(rows)
      await pause()
    }
  }
  const take = (count: number) => takeSorted(sorter, scan, count)
  await scan()
  for (let skip = offset; skip > 0; ) {
    const { length } = await take(Math.min(skip, scanRows))
    skip = length === 0 ? 0 : skip - length
    await pause()
  }
  const read = db
    .prepare<unknown[], MatchRow>(byIdsSql(wholePlan(plan), select))
    .raw()
    .safeIntegers()
  for (let page = await take(pageRows); page.length > 0; page = await take(pageRows))
    yield* readByIds<MatchRow>(read, page, (json) => [json], { maxRows: pageRows })
}

/** Most rows of a sorted reading of which each window gives its first ones alone. */
const MOST_FIRST = 1000

/** Returns true when all sort keys are small and compare in SQLite as they do here. */
function hasNumberKeys({ table, order }: QueryPlan): boolean {
  return order.every(({ column: name }) => {
    const column = readableColumns(table).get(name)
    return (
      column !== undefined && !column.isEncrypted && /^(integer|float)$/.test(typeOf(column.udtName).kind)
    )
  })
}

/**
 * Reads the keys of the rows of each window that may be among the first of all. What SQLite leaves out does not
 * become a row of JavaScript: of 1,000,000 rows with one start time five are read in a tenth of the time.
 */
function* firstOfWindows(
  db: Db,
  plan: QueryPlan,
  { select, keys, most }: { select: string; keys: readonly string[]; most: number },
  scanRows: number,
): Generator<MatchRow[]> {
  const read = db
    .prepare<unknown[], MatchRow>(firstOfWindowSql(plan, select, keys))
    .raw()
    .safeIntegers()
  const { after: first, last } = idRange(db, plan)
  const windowRows = scanRows * WINDOW_PAGES
  for (let after = first; after < last; after += windowRows)
    yield read.all(after, Math.min(last, after + windowRows), ...plan.params, most)
}

/** Reads the keys of all matching rows, page by page. @param ids rows that may match; undefined for all */
function keyPages(
  db: Db,
  plan: QueryPlan,
  ids: RowIds | undefined,
  { select, scanRows }: { select: string; scanRows: number },
): Generator<MatchRow[]> {
  if (ids === undefined) return readWindows(db, plan, select, scanRows)
  const read = db.prepare<unknown[], MatchRow>(byIdsSql(plan, select)).raw().safeIntegers()
  const paging = { maxRows: scanRows, keep: areaTest(db, plan) }
  return readByIds<MatchRow>(read, ids, (json) => [json, ...plan.params], paging)
}

/** Returns the ids of rows that may match, ascending; undefined when the table is better scanned. */
async function candidateIds(db: Db, plan: QueryPlan, pause: Pause): Promise<RowIds | undefined> {
  const { box, table, query } = plan
  if (box !== undefined || query.span !== undefined) {
    const find = query.isNowhereIn === true ? findCandidatesOrNowhere : findCandidates
    // no test: readings of an empty box end before this
    const steps = find(db, table, box === 'empty' ? undefined : box, query.span, query.area)
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
  const { isFromEnd = false } = plan.query
  const { after: afterId, last } = idRange(db, plan)
  const read = db.prepare<unknown[], MatchRow>(windowSql(plan, select)).raw().safeIntegers()
  if (isFromEnd) {
    for (let until = last; until > afterId; until -= pageRows)
      yield read.all(Math.max(afterId, until - pageRows), until, ...plan.params)
    return
  }
  const windowRows = plan.where === '1' ? pageRows : pageRows * WINDOW_PAGES
  for (let after = afterId; after < last; ) {
    const until = Math.min(last, after + windowRows)
    const { rows, last: lastRow, isCut } = readSome<MatchRow>(read, [after, until, ...plan.params], pageRows)
    after = isCut && lastRow !== undefined ? Number(lastRow[0]) : until
    yield rows
  }
}

/** Returns the ids between which the rows of a query lie: after one, up to another. */
function idRange(db: Db, { table, query }: QueryPlan): { after: number; last: number } {
  const newest = oneValue<number>(db, `SELECT coalesce(max(${ROW_ID}), 0) FROM ${tableSql(table)}`)
  const { afterId = 0, beforeId = Infinity } = query
  return { after: Math.max(afterId, firstRowId(db, table) - 1), last: Math.min(newest, beforeId - 1) }
}

/** Returns the part of some ascending ids that lies between those a query names. */
function idsBetween(ids: RowIds, { afterId = 0, beforeId = Infinity }: TableQuery): RowIds {
  const from = ids.findIndex((id) => id > afterId)
  const to = ids.findLastIndex((id) => id < beforeId)
  return from < 0 ? ids.subarray(0, 0) : ids.subarray(from, to + 1)
}

/**
 * Returns the test of a row by the exact area: the index holds boxes in single precision only. A test of a
 * large geometry takes as long as many rows, so the guard of the connection is asked before and during each.
 */
function areaTest(db: Db, { query }: QueryPlan): (row: MatchRow) => boolean {
  const { area, isNowhereIn = false } = query
  if (area === undefined) return () => true
  const throwIfEnded = () => checkGuard(db)
  return ([, wkb]) => {
    throwIfEnded()
    return wkb === null ? isNowhereIn : area.intersectsWkb(wkb, throwIfEnded)
  }
}

/** Returns SQL whose values compare in JavaScript as the column compares in SQLite. */
function sortSql(table: LoaderTable, name: string): string {
  const column = readableColumns(table).get(name)
  if (column === undefined) return 'NULL' // no test: planQuery refuses unknown columns
  return sortValueSql(typeOf(column.udtName).order, readableSql(table, name))
}
