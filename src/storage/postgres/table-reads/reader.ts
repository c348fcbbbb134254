import { isAppError } from '../../../errors.js'
import type { ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import { CHAR_BYTES, LARGE_BYTES, type LargeValue, sumLarge } from '../../columns/large-values.js'
import { handOver } from '../../hand-over.js'
import { printRows, type RowPrinting, type SelectedRow } from '../../records/print-rows.js'
import { droppedMeanwhile } from '../../records/read-records.js'
import type {
  LoaderTable,
  QueryPaths,
  TableQuery,
  TableReader,
  TableReaderOptions,
  TableRow,
} from '../../tables.js'
import { createPause, type Pause } from '../../work/pause.js'
import type { TextRow } from '../connection/database.js'
import { dataVersionOf } from '../tables/catalog.js'
import { rowsName, type SqlType } from '../tables/ddl.js'
import type { TablesContext } from '../tables/store.js'
import { readStored } from '../tables/stored-values.js'
import { matchingIds, needsTest } from './matches.js'
import { planQuery, type QueryPlan, sqlColumn, whereSql } from './query.js'

/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5
/** Rows of a page that carries files, each of which may be as large as a call. */
const FILE_PAGE_ROWS = 4

const DEFAULT_PATHS: QueryPaths = {
  conds: '$.properties.conds',
  order: '$.properties.order',
  columns: '$.properties.columns',
}

interface Reading extends Pick<TablesContext, 'db' | 'catalog' | 'maxValueBytes'> {
  readonly options: TableReaderOptions
  readonly env: ValueEnv
  readonly pause: Pause
  readonly signal: AbortSignal | undefined
}

/** Creates the reader. Each statement sees what is committed by then. */
export function createTableReader(context: TablesContext, options: TableReaderOptions): TableReader {
  const { db, catalog } = context
  const reading = (signal: AbortSignal | undefined): Reading => ({
    ...{ ...context, options, signal },
    env: { timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) },
    pause: createPause(signal, SLICE_MS, options.nextTurn),
  })
  return {
    find: (name) => catalog.find(db.read, name),
    list: () => catalog.list(db.read),
    dataVersion: async (table) => (await dataVersionOf(db.read, table)) ?? -1,
    pages: (table, query, signal, paths = DEFAULT_PATHS) => readPages(reading(signal), table, query, paths),
    count: (table, query, signal, paths = DEFAULT_PATHS) => countRows(reading(signal), table, query, paths),
  }
}

async function* readPages(
  reading: Reading,
  table: LoaderTable,
  query: TableQuery,
  paths: QueryPaths,
): AsyncGenerator<TableRow[]> {
  const { db, options, env, pause } = reading
  try {
    const plan = await planQuery(db.read, table, query, env, paths)
    const hasFiles = plan.columns.some(({ file }) => file !== null)
    const pageRows = hasFiles ? FILE_PAGE_ROWS : options.pageRows
    const printing = { table, columns: plan.columns, env, options }
    for await (const ids of pagesOfIds(wantedIds(reading, plan), pageRows)) {
      yield* readRows(reading, plan, printing, ids)
      await pause()
    }
  } catch (error) {
    throw await ofDrop(reading, table, error)
  }
}

/** Reads the ids of the rows that a query wants, in the order of its answer. */
async function* wantedIds({ db, pause }: Reading, plan: QueryPlan): AsyncGenerator<number[]> {
  const { offset = 0, limit = Number.POSITIVE_INFINITY, isFromEnd = false, order } = plan.query
  if (limit === 0) return
  const reading = { rows: db.read, plan, pause }
  if (isFromEnd && (order === undefined || plan.order.length === 0)) {
    const last: number[] = []
    for await (const ids of matchingIds(reading, limit)) {
      for (const id of ids) last.push(id)
      if (last.length >= limit) break
    }
    yield last.slice(0, limit).reverse().slice(offset)
    return
  }
  let skip = offset
  let left = limit
  for await (const ids of matchingIds(reading, offset + limit)) {
    const wanted = ids.slice(skip, skip + left)
    skip = Math.max(0, skip - ids.length)
    left -= wanted.length
    if (wanted.length > 0) yield wanted
    if (left === 0) return
  }
}

/** Cuts ids into pages, all of them full but the last. */
async function* pagesOfIds(source: AsyncIterable<number[]>, pageRows: number): AsyncGenerator<number[]> {
  let open: number[] = []
  for await (const ids of source) {
    for (let at = 0; at < ids.length; ) {
      const take = Math.min(pageRows - open.length, ids.length - at)
      open = open.length === 0 ? ids.slice(at, at + take) : [...open, ...ids.slice(at, at + take)]
      at += take
      if (open.length < pageRows) continue
      yield open
      open = []
    }
  }
  if (open.length > 0) yield open
}

/** Values of a selected row: the id, sizes of large values, then location and columns. */
const HEAD = 2

/** Bytes of the values of a page that are read by one statement, about. */
const PAGE_BYTES = 16 * 1024 * 1024
/** Bytes of rows that are read again with the values that a page has left out. */
const AGAIN_BYTES = 4 * 1024 * 1024

/** Rows of a page that follow each other and are read in the same way. */
interface Run {
  /** whole: all values were read; left out: some were not; large: one row, which is read when it is its turn */
  readonly kind: 'whole' | 'left out' | 'large'
  readonly rows: TextRow[]
  bytes: number
  readonly large: readonly LargeValue[]
}

/** Reads rows by their ids. The page has sizes in place of values that are too long for it. */
async function* readRows(
  reading: Reading,
  plan: QueryPlan,
  printing: RowPrinting,
  ids: readonly number[],
): AsyncGenerator<TableRow[]> {
  const columns = columnsOf(plan)
  const longest = Math.min(LARGE_BYTES, Math.max(MIN_LONG_BYTES, Math.floor(PAGE_BYTES / ids.length)))
  const sql = byIdsSql(plan, columns, longest)
  const found = await reading.db.read.lists(sql, [`{${ids.join(',')}}`], 'once')
  const runs: Run[] = []
  for (const row of found) {
    const long = await longValues(reading, columns, row)
    const bytes = long.reduce((sum, value) => sum + value.bytes, 0)
    const isLarge = long.some((value) => value.bytes > LARGE_BYTES)
    const kind = isLarge ? 'large' : long.length > 0 ? 'left out' : 'whole'
    const last = runs.at(-1)
    if (last?.kind === kind && kind !== 'large' && last.bytes + bytes <= AGAIN_BYTES) {
      last.rows.push(row)
      last.bytes += bytes
    } else runs.push({ kind, rows: [row], bytes, large: long })
  }
  for (const run of runs) yield* printRun(reading, plan, printing, run)
}

/** Shortest value that a page leaves out. */
const MIN_LONG_BYTES = 4096

async function* printRun(
  { db, options, signal, maxValueBytes }: Reading,
  plan: QueryPlan,
  printing: RowPrinting,
  { kind, rows, large }: Run,
): AsyncGenerator<TableRow[]> {
  const columns = columnsOf(plan)
  if (kind === 'whole') {
    yield await printRows(
      printing,
      rows.map((row) => toSelected(columns, row)),
    )
    return
  }
  const end =
    kind === 'large' ? await options.largeReads?.take(sumLarge(large, maxValueBytes), signal) : undefined
  try {
    const sql = byIdsSql(plan, columns, undefined)
    const found = await db.read.lists(sql, [`{${rows.map(([id]) => id).join(',')}}`], 'once')
    if (found.length === 0) return // they were removed meanwhile
    const page = await printRows(
      printing,
      found.map((row) => toSelected(columns, row)),
    )
    if (kind === 'large') yield* handOver(page)
    else yield page
  } finally {
    end?.()
  }
}

interface ReadColumn {
  readonly name: string
  readonly sql: string
  readonly type: SqlType
  readonly mayBeLong: boolean
  readonly isFile: boolean
}

function columnsOf({ table, columns }: QueryPlan): ReadColumn[] {
  const location = table.columnByName.get('location')
  return [...(location === undefined ? [] : [location]), ...columns].map(
    ({ name, udtName, length, file }) => ({
      name,
      ...sqlColumn(table, name),
      mayBeLong:
        file === null &&
        typeOf(udtName).kind !== 'integer' &&
        typeOf(udtName).kind !== 'float' &&
        !isShort(length),
      isFile: file !== null,
    }),
  )
}

/** True for a column whose values are never long enough to be left out. */
function isShort(length: number | null): boolean {
  return length !== null && length * CHAR_BYTES <= MIN_LONG_BYTES
}

/** @param longest bytes of a value above which its size stands for it; undefined for any value */
function byIdsSql({ table }: QueryPlan, columns: readonly ReadColumn[], longest: number | undefined): string {
  const isLong = ({ sql }: ReadColumn) => `octet_length(${sql}) > ${longest}`
  const mayBeLong = (column: ReadColumn) => longest !== undefined && column.mayBeLong
  const sizes = columns.flatMap((column, at) =>
    mayBeLong(column) ? [`CASE WHEN ${isLong(column)} THEN '${at}:' || octet_length(${column.sql}) END`] : [],
  )
  const values = columns.map((column) =>
    mayBeLong(column) ? `CASE WHEN NOT ${isLong(column)} THEN ${column.sql} END` : column.sql,
  )
  const size = sizes.length === 0 ? 'NULL' : `nullif(concat_ws(',', ${sizes.join(', ')}), '')`
  return `SELECT ${['t.row_id', size, ...values].join(', ')}
    FROM unnest($1::bigint[]) WITH ORDINALITY AS w(id, n) JOIN ${rowsName(table)} AS t ON t.row_id = w.id ORDER BY w.n`
}

function toSelected(columns: readonly ReadColumn[], row: TextRow): SelectedRow {
  const [location, ...values] = columns.map(({ type }, at) => readStored(type, row[HEAD + at]))
  return [BigInt(row[0] ?? 0), location as Uint8Array | null, ...values]
}

const NONE: readonly LargeValue[] = []

/** Returns the values of a row that were left out, and its large files. */
async function longValues(
  { options }: Reading,
  columns: readonly ReadColumn[],
  row: TextRow,
): Promise<readonly LargeValue[]> {
  const sizes = row[1]?.split(',').map((text) => text.split(':').map(Number) as [number, number]) ?? []
  let long =
    sizes.length === 0 ? NONE : sizes.map(([at, bytes]) => ({ name: columns[at]?.name ?? '', bytes }))
  if (options.sizeOfFile === undefined) return long
  for (const [at, { name, isFile }] of columns.entries()) {
    const digest = row[HEAD + at]
    if (!isFile || digest === null || digest === undefined) continue
    const bytes = await options.sizeOfFile(digest)
    if (bytes > LARGE_BYTES) long = [...long, { name, bytes }]
  }
  return long
}

async function countRows(
  reading: Reading,
  table: LoaderTable,
  query: TableQuery,
  paths: QueryPaths,
): Promise<number> {
  const { db, env, pause } = reading
  try {
    await pause()
    const plan = { ...(await planQuery(db.read, table, query, env, paths)), order: [] }
    if (plan.isEmpty) return 0
    if (!needsTest(plan)) {
      const sql = `SELECT count(*) FROM ${rowsName(table)} AS t ${whereSql(plan)}`
      return Number((await db.read.lists(sql, plan.values, 'once'))[0]?.[0])
    }
    let count = 0
    for await (const ids of matchingIds({ rows: db.read, plan, pause }, Number.POSITIVE_INFINITY))
      count += ids.length
    return count
  } catch (error) {
    throw await ofDrop(reading, table, error)
  }
}

/** Returns the error of a table that was dropped meanwhile, where that is the reason of a failure. */
async function ofDrop({ db, catalog }: Reading, table: LoaderTable, error: unknown): Promise<unknown> {
  if (isAppError(error)) return error
  const found = await catalog.findById(db.read, table.tableId)
  return found === undefined ? droppedMeanwhile(table.dataName, error) : error
}
