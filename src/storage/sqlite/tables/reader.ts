import { AppError } from '../../../errors.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import { decodeStored } from '../../columns/column-types-bytes.js'
import type {
  Column,
  LoaderTable,
  QueryPaths,
  TableQuery,
  TableReader,
  TableReaderOptions,
  TableRow,
} from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { findCandidates, findCandidatesOrNowhere, type RowIds } from './candidates.js'
import { dataVersionOf, findTable, listTables } from './catalog.js'
import { ROW_ID, tableSql } from './ddl.js'
import { lastOf } from './last-of.js'
import { byIdsSql, byKeySql, planQuery, type QueryPlan, windowSql } from './query.js'
import { cryptoContext } from './record-plan.js'
import { createSorter } from './sort.js'

/** The longest the reader works before it lets others in, ms. */
const SLICE_MS = 5
/** Rows of a window when a condition may leave few of them. */
const WINDOW_PAGES = 10
/** Rows of one key value that are fetched by the unique index; beyond it the table is read along instead. */
const MAX_KEY_ROWS = 100_000
/** Rows of a page that carries files: each may be as large as a call. */
const FILE_PAGE_ROWS = 4

const DEFAULT_PATHS: QueryPaths = {
  conds: '$.properties.conds',
  order: '$.properties.order',
  columns: '$.properties.columns',
}

/** Opens the reader over a connection that sees committed rows only. */
export function createTableReader(db: Db, options: TableReaderOptions): TableReader {
  return {
    find: (name) => findTable(db, name),
    list: () => listTables(db),
    dataVersion: (table) => dataVersionOf(db, table) ?? -1,
    pages: (table, query, signal, paths = DEFAULT_PATHS) =>
      readPages({ db, options, signal }, table, query, paths),
  }
}

/** Waits when others should be let in. */
export type Pause = () => Promise<void>

interface Reading {
  db: Db
  options: TableReaderOptions
  signal: AbortSignal | undefined
}

async function* readPages(
  reading: Reading,
  table: LoaderTable,
  query: TableQuery,
  paths: QueryPaths,
): AsyncGenerator<TableRow[]> {
  const { db, options } = reading
  const env: ValueEnv = { timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) }
  const plan = planQuery(db, table, query, env, paths)
  const pause = createReaderPause(reading.signal)
  let skip = plan.order.length === 0 ? (query.offset ?? 0) : 0 // a sorted reading skips ids, which is quicker
  let left = query.limit ?? Infinity
  try {
    if (plan.box === 'empty') return
    for await (const matches of matchesOf(reading, plan, pause)) {
      const rows = matches.slice(skip, skip + left)
      skip = Math.max(0, skip - matches.length)
      left -= rows.length
      if (rows.length > 0) yield await printRows(reading, plan, rows, env)
      if (left === 0) return
      await pause()
    }
  } catch (error) {
    throw findTable(db, table.dataName)?.tableId === table.tableId || error instanceof AppError
      ? error
      : new AppError('UNKNOWN_TABLE', { data_name: table.dataName }, { cause: error })
  } finally {
    plan.release()
  }
}

/** A row as selected: id, location, then the plan's columns. */
type RawRow = [bigint, Uint8Array | null, ...Stored[]]

function matchesOf(reading: Reading, plan: QueryPlan, pause: Pause): AsyncGenerator<RawRow[]> {
  if (plan.order.length > 0) return matchesSorted(reading, plan, pause)
  const { offset = 0, limit = Infinity } = plan.query
  // where every row matches, no more are read than are asked for
  const most = plan.where === '1' && plan.box === undefined ? Math.max(1, offset + limit) : Infinity
  const pageRows = Math.min(pageRowsOf(reading, plan), most)
  const matches = matchesById<RawRow>(reading.db, plan, selectOf(plan), pageRows, pause)
  return plan.query.isFromEnd === true ? lastOf(matches, plan.query.limit ?? Infinity, pageRows) : matches
}

/**
 * Matching rows in the order of their ids, page by page; the last page first when the query reads from the end.
 *
 * @param select id and location first
 */
export async function* matchesById<Row extends [bigint, Uint8Array | null, ...Stored[]]>(
  db: Db,
  plan: QueryPlan,
  select: string,
  pageRows: number,
  pause: Pause,
): AsyncGenerator<Row[]> {
  const found = await candidateIds(db, plan, pause)
  if (found === undefined) {
    for (const rows of readWindows<Row>(db, plan, select, pageRows)) {
      await pause()
      yield rows
    }
    return
  }
  const ids = idsBetween(found, plan.query)
  const read = db.prepare<unknown[], Row>(byIdsSql(plan, select)).raw().safeIntegers()
  for (let done = 0; done < ids.length; done += pageRows) {
    await pause()
    const page =
      plan.query.isFromEnd === true
        ? ids.subarray(Math.max(0, ids.length - done - pageRows), ids.length - done)
        : ids.subarray(done, done + pageRows)
    yield withinArea(plan, read.all(idsJson(page), ...plan.params))
  }
}

/** Ids and sort keys first, then the rows, page by page in their order. */
async function* matchesSorted(reading: Reading, plan: QueryPlan, pause: Pause): AsyncGenerator<RawRow[]> {
  const { db, options } = reading
  const { offset = 0, limit = Infinity } = plan.query
  const sorter = createSorter(
    plan.order.map((term) => term.isDescending),
    offset + limit,
  )
  const keys = plan.order.map(({ column }) => sortSql(plan.table.columnByName.get(column) as Column))
  const select = [`t.${ROW_ID}`, plan.query.area === undefined ? 'NULL' : 't.location', ...keys].join(', ')
  const add = (rows: RawRow[]) => {
    for (const [id, , ...row] of rows) sorter.add({ rowId: Number(id), keys: row })
  }
  const ids = await candidateIds(db, plan, pause)
  if (ids === undefined) {
    for (const rows of readWindows<RawRow>(db, plan, select, options.pageRows)) {
      add(rows)
      await pause()
    }
  } else {
    const read = db.prepare<unknown[], RawRow>(byIdsSql(plan, select)).raw().safeIntegers()
    for (let from = 0; from < ids.length; from += options.pageRows) {
      add(withinArea(plan, read.all(idsJson(ids.subarray(from, from + options.pageRows)), ...plan.params)))
      await pause()
    }
  }
  const pageRows = pageRowsOf(reading, plan)
  const read = db
    .prepare<unknown[], RawRow>(byIdsSql({ ...plan, where: '1' }, selectOf(plan)))
    .raw()
    .safeIntegers()
  for (let skip = offset; skip > 0; skip -= options.pageRows) {
    sorter.take(Math.min(skip, options.pageRows))
    await pause()
  }
  for (let page = sorter.take(pageRows); page.length > 0; page = sorter.take(pageRows)) {
    yield read.all(JSON.stringify(page))
  }
}

/** Ids of rows that may match, or undefined when the table is best read along. */
async function candidateIds(db: Db, plan: QueryPlan, pause: Pause): Promise<RowIds | undefined> {
  const { box, table, query } = plan
  if (box !== undefined || query.span !== undefined) {
    const find = query.isNowhereIn === true ? findCandidatesOrNowhere : findCandidates
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

/** Pages of the table in id order, window by window, so that a condition which leaves few rows does not stop the loop. */
function* readWindows<Row>(db: Db, plan: QueryPlan, select: string, pageRows: number): Generator<Row[]> {
  const newest =
    statement<number>(db, `SELECT coalesce(max(${ROW_ID}), 0) FROM ${tableSql(plan.table)}`)
      .pluck()
      .get() ?? 0
  const { afterId = 0, beforeId = Infinity, isFromEnd = false } = plan.query
  const last = Math.min(newest, beforeId - 1)
  const read = db.prepare<unknown[], Row>(windowSql(plan, select)).raw().safeIntegers()
  if (isFromEnd) {
    for (let until = last; until > afterId; until -= pageRows)
      yield read.all(Math.max(afterId, until - pageRows), until, ...plan.params, pageRows)
    return
  }
  const windowRows = plan.where === '1' ? pageRows : pageRows * WINDOW_PAGES
  for (let after = afterId; after < last; ) {
    const until = Math.min(last, after + windowRows)
    const rows = read.all(after, until, ...plan.params, pageRows)
    const lastRow = rows.at(-1) as [bigint] | undefined
    after = rows.length === pageRows && lastRow !== undefined ? Number(lastRow[0]) : until
    yield rows
  }
}

/** The part of some ids that lies between those a query names. */
function idsBetween(ids: RowIds, { afterId = 0, beforeId = Infinity }: TableQuery): RowIds {
  const from = ids.findIndex((id) => id > afterId)
  const to = ids.findLastIndex((id) => id < beforeId)
  return from < 0 ? ids.subarray(0, 0) : ids.subarray(from, to + 1)
}

/** The index knows boxes in single precision: what it found is tested here. */
function withinArea<Row extends readonly [bigint, Uint8Array | null, ...Stored[]]>(
  plan: QueryPlan,
  rows: Row[],
): Row[] {
  const { area, isNowhereIn = false } = plan.query
  if (area === undefined) return rows
  return rows.filter(([, wkb]) => (wkb === null ? isNowhereIn : area.intersectsWkb(wkb)))
}

async function printRows(
  reading: Reading,
  plan: QueryPlan,
  rows: RawRow[],
  env: ValueEnv,
): Promise<TableRow[]> {
  const printed: TableRow[] = []
  for (const [id, wkb, ...values] of rows) {
    const properties: Record<string, unknown> = {}
    for (const [at, column] of plan.columns.entries()) {
      const made = printValue(reading, plan.table, column, values[at] as Stored, env)
      const value = made instanceof Promise ? await made : made // a million rows go through here
      if (column.name === '__proto__')
        Object.defineProperty(properties, column.name, { value, enumerable: true })
      else properties[column.name] = value
    }
    printed.push({ rowId: Number(id), geometry: wkb === null ? null : decodeStored(wkb), properties })
  }
  return printed
}

/** A promise only for what lies in a file. */
function printValue(
  reading: Reading,
  table: LoaderTable,
  column: Column,
  stored: Stored,
  env: ValueEnv,
): unknown {
  if (stored === null) return null
  const { keyring, readFile } = reading.options
  if (column.isEncrypted) return keyring.decrypt(stored as Uint8Array, cryptoContext(table, column))
  if (column.file === null) return typeOf(column.udtName).print(stored, env)
  return readFile(stored as string).then((bytes) => Buffer.from(bytes).toString('base64'))
}

/** Id and location first, always: the exact test and the page's end need them. */
function selectOf(plan: QueryPlan): string {
  return [`t.${ROW_ID}`, 't.location', ...plan.columns.map(({ name }) => `t.${identifier(name)}`)].join(', ')
}

/** Values that compare in JavaScript as SQLite compares the column. */
function sortSql({ name, udtName }: Column): string {
  const type = typeOf(udtName)
  const sql = type.sortKey?.(`t.${identifier(name)}`) ?? 'NULL'
  return type.collation === 'RTRIM' ? `rtrim(${sql}, ' ')` : sql
}

/** Files are read whole for their row: a page of a thousand photographs would not fit. */
function pageRowsOf({ options }: Reading, plan: QueryPlan): number {
  return plan.columns.some(({ file }) => file !== null) ? FILE_PAGE_ROWS : options.pageRows
}

/** Bound as one text: `json_each` takes any number of ids in one kept statement, in their order. */
function idsJson(ids: RowIds): string {
  return JSON.stringify(Array.from(ids))
}

/** Lets the event loop turn when the reader has worked for a while; @throws AppError CANCELLED when the caller is gone */
export function createReaderPause(signal: AbortSignal | undefined): Pause {
  let startedAt = performance.now()
  return async () => {
    if (signal?.aborted === true) throw new AppError('CANCELLED')
    if (performance.now() - startedAt < SLICE_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    startedAt = performance.now()
  }
}
