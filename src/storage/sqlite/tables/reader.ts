import { AppError } from '../../../errors.js'
import type { ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import type {
  Column,
  LoaderTable,
  QueryPaths,
  TableQuery,
  TableReader,
  TableReaderOptions,
  TableRow,
} from '../../tables.js'
import { createPause, type Pause } from '../../work/pause.js'
import { type Db, oneValue } from '../connection/database.js'
import { dataVersionOf, findTable, listTables } from './catalog.js'
import { ROW_ID, tableSql } from './ddl.js'
import { pageSelect, printPage } from './large-rows.js'
import {
  COUNT_ROWS,
  idSelect,
  lastMatches,
  type MatchReading,
  type MatchRow,
  matchesById,
  matchesSorted,
} from './matches.js'
import { readableSql } from './origins.js'
import { planQuery, type QueryPlan } from './query.js'

/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5
/** Rows of a page that carries files, each of which may be as large as a call. */
const FILE_PAGE_ROWS = 4

const DEFAULT_PATHS: QueryPaths = {
  conds: '$.properties.conds',
  order: '$.properties.order',
  columns: '$.properties.columns',
}

/**
 * Creates the reader over a connection.
 *
 * @param db sees committed rows only
 */
export function createTableReader(db: Db, options: TableReaderOptions): TableReader {
  const reading = (signal: AbortSignal | undefined): Reading => ({
    db,
    options,
    env: { timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) },
    pause: createPause(signal, SLICE_MS, options.nextTurn),
    signal,
  })
  return {
    find: async (name) => findTable(db, name),
    list: async () => listTables(db),
    dataVersion: async (table) => dataVersionOf(db, table) ?? -1,
    pages: (table, query, signal, paths = DEFAULT_PATHS) => readPages(reading(signal), table, query, paths),
    count: (table, query, signal, paths = DEFAULT_PATHS) => countRows(reading(signal), table, query, paths),
  }
}

interface Reading {
  readonly db: Db
  readonly options: TableReaderOptions
  readonly env: ValueEnv
  readonly pause: Pause
  readonly signal?: AbortSignal | undefined
  /** largest value of a row; absent for no limit */
  readonly maxValueBytes?: number
}

/** Largest value that a small read takes, bytes. */
const SMALL_VALUE_BYTES = 16 * 1024

/**
 * Reads pages as `TableReader.pages` does.
 *
 * @throws VALUE_TOO_LARGE for a large value, before it is read; what `pause` throws
 */
export function readPagesWithin(
  reading: Reading,
  table: LoaderTable,
  query: TableQuery,
): AsyncGenerator<TableRow[]> {
  return readPages({ ...reading, maxValueBytes: SMALL_VALUE_BYTES }, table, query, DEFAULT_PATHS)
}

async function* readPages(
  reading: Reading,
  table: LoaderTable,
  query: TableQuery,
  paths: QueryPaths,
): AsyncGenerator<TableRow[]> {
  const { db, options, env, pause } = reading
  const plan = planQuery(db, table, query, env, paths)
  const printing = { table, columns: plan.columns, env, options }
  const { largeReads: turns } = options
  const page = { db, plan, printing, select: selectOf(plan, undefined), turns, signal: reading.signal }
  let skip = plan.order.length === 0 ? (query.offset ?? 0) : 0 // a sorted reading skips ids, which is quicker
  let left = query.limit ?? Infinity
  try {
    if (plan.box === 'empty') return
    for await (const matches of matchesOf(reading, plan)) {
      const rows = matches.slice(skip, skip + left)
      skip = Math.max(0, skip - matches.length)
      left -= rows.length
      yield* printPage(page, rows)
      if (left === 0) return
      await pause()
    }
  } catch (error) {
    // a failure of a table that was dropped meanwhile is the fault of the drop
    throw findTable(db, table.dataName)?.tableId === table.tableId || error instanceof AppError
      ? error
      : new AppError('UNKNOWN_TABLE', { data_name: table.dataName }, { cause: error })
  } finally {
    plan.release()
  }
}

function matchesOf(
  { db, options, pause, maxValueBytes }: Reading,
  plan: QueryPlan,
): AsyncGenerator<MatchRow[]> {
  const pageRows = plan.columns.some(({ file }) => file !== null) ? FILE_PAGE_ROWS : options.pageRows
  const select = maxValueBytes === undefined ? pageSelect(plan, namesOf(plan)) : selectOf(plan, maxValueBytes)
  const reading: MatchReading = { db, plan, select, pageRows, pause }
  if (plan.order.length > 0) return matchesSorted(reading, options.pageRows)
  const { offset = 0, limit = Infinity, isFromEnd = false } = plan.query
  // where every row matches, no more rows are read than are wanted
  const most = plan.where === '1' && plan.box === undefined ? Math.max(1, offset + limit) : Infinity
  const bounded = { ...reading, pageRows: Math.min(pageRows, most) }
  return isFromEnd ? lastMatches(bounded) : matchesById(bounded)
}

async function countRows(
  { db, env, pause }: Reading,
  table: LoaderTable,
  query: TableQuery,
  paths: QueryPaths,
): Promise<number> {
  const plan = planQuery(db, table, query, env, paths)
  try {
    if (plan.box === 'empty') return 0
    if (plan.where === '1' && plan.box === undefined) return countAll(db, table)
    let count = 0
    for await (const rows of matchesById({ db, plan, select: idSelect(plan), pageRows: COUNT_ROWS, pause }))
      count += rows.length
    return count
  } finally {
    plan.release()
  }
}

/** Counts along the index of the unique key, the narrowest one: about 8 ms per million rows. */
function countAll(db: Db, table: LoaderTable): number {
  return oneValue(db, `SELECT count(*) FROM ${tableSql(table)}`)
}

/**
 * @param maxBytes value of any larger size ends the statement; only its head is read for that. Numbers are small,
 *   and SQLite would print each to tell its size
 */
function selectOf(plan: QueryPlan, maxBytes: number | undefined): string {
  const values = namesOf(plan).map((name) => {
    const sql = readableSql(plan.table, name)
    if (maxBytes === undefined || isNumber(plan.table.columnByName.get(name))) return sql
    return `CASE WHEN octet_length(${sql}) > ${maxBytes} THEN value_too_large() ELSE ${sql} END`
  })
  return [`t.${ROW_ID}`, ...values].join(', ')
}

/** True for a column of numbers; a float may be the text NaN. */
function isNumber(column: Column | undefined): boolean {
  return column !== undefined && !column.isEncrypted && /^(integer|float)$/.test(typeOf(column.udtName).kind)
}

function namesOf(plan: QueryPlan): string[] {
  return ['location', ...plan.columns.map(({ name }) => name)]
}
