import type { Geometry } from '../../../geo/types.js'
import type { ValueEnv } from '../../columns/column-type.js'
import { LOADER_TYPES, type UdtName } from '../../columns/column-types.js'
import { areaFor, inWgs84 } from '../../columns/search-area.js'
import { setProperty } from '../../columns/set-property.js'
import type { StateColumn } from '../../columns/state-column.js'
import { unknownDataset } from '../../datasets/datasets.js'
import type { StateQuery, StateRow } from '../../datasets/states.js'
import {
  type Column,
  isDatasetTable,
  type LoaderTable,
  type QueryPaths,
  type TableQuery,
  type TableReader,
  type TableRow,
} from '../../tables.js'
import type { LargeReads } from '../../work/large-reads.js'
import { createPause, type NextTurn } from '../../work/pause.js'
import { type Db, statement } from '../connection/database.js'
import { countState, readState, type StateReading } from '../versions/read-state.js'
import { currentState } from '../versions/versioned-table.js'
import { allDatasets, type FoundDataset, findDataset, requireDataset } from './catalog.js'

interface DatasetTablesOptions {
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** most rows of a page */
  readonly pageRows: number
  /** µs UTC */
  nowUs(): number
  /** waits for the turn of the next slice of work; absent for a turn of the event loop */
  nextTurn?: NextTurn
  readonly largeReads?: LargeReads
}

/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
const START = 'start_datetime'
const END = 'end_datetime'
const DEFAULT_PATHS: QueryPaths = {
  conds: '$.properties.conds',
  order: '$.properties.order',
  columns: '$.properties.columns',
}

/**
 * Opens the datasets that have a geometry column as tables of event data. The rows are the current ones, the
 * first geometry column takes the place of `location`. A span is compared with the columns `start_datetime`
 * and `end_datetime` of datasets that have both.
 *
 * @param db a connection that sees committed rows only
 */
export function createDatasetTables(db: Db, options: DatasetTablesOptions): TableReader {
  return {
    async find(name) {
      const dataset = findDataset(db, name)
      return dataset === undefined ? undefined : toTable(dataset)
    },
    list: async () => allDatasets(db).flatMap((dataset) => toTable(dataset) ?? []),
    dataVersion: async ({ dataName }) =>
      statement<number>(db, 'SELECT last_tx FROM dataset WHERE short_form = ?').pluck().get(dataName) ?? -1,
    pages: ({ dataName }, query, signal, paths = DEFAULT_PATHS) =>
      readPages(db, options, { dataName, query, signal, paths }),
    count: ({ dataName }, query, signal, paths = DEFAULT_PATHS) =>
      countRows(db, options, { dataName, query, signal, paths }),
  }
}

/** Joins loader tables and datasets. A name that both have is the loader table's. */
export function withDatasets(tables: TableReader, datasets: TableReader): TableReader {
  const readerOf = (table: LoaderTable) => (isDatasetTable(table) ? datasets : tables)
  return {
    find: async (name) => (await tables.find(name)) ?? (await datasets.find(name)),
    list: async () => [...(await tables.list()), ...(await datasets.list())],
    dataVersion: (table) => readerOf(table).dataVersion(table),
    pages: (table, query, signal, paths) => readerOf(table).pages(table, query, signal, paths),
    count: (table, query, signal, paths) => readerOf(table).count(table, query, signal, paths),
  }
}

interface TableReading {
  readonly dataName: string
  readonly query: TableQuery
  readonly signal: AbortSignal | undefined
  readonly paths: QueryPaths
}

async function* readPages(
  db: Db,
  options: DatasetTablesOptions,
  given: TableReading,
): AsyncGenerator<TableRow[]> {
  const { dataset, reading } = openReading(db, options, given)
  const { columns, pages } = readState(reading, currentState(dataset.table), toStateQuery(dataset, given))
  const place = placeOf(dataset)
  for await (const rows of pages) yield rows.map((row) => toTableRow(columns, row, place, reading.env))
}

async function countRows(db: Db, options: DatasetTablesOptions, given: TableReading): Promise<number> {
  const { dataset, reading } = openReading(db, options, given)
  return await countState(reading, currentState(dataset.table), toStateQuery(dataset, given))
}

/** @throws AppError UNKNOWN_DATASET */
function openReading(
  db: Db,
  { timeZoneMin, pageRows, nowUs, nextTurn, largeReads }: DatasetTablesOptions,
  { dataName, signal, paths }: TableReading,
): { dataset: FoundDataset; reading: StateReading } {
  const dataset = requireDataset(db, dataName)
  const env: ValueEnv = { timeZoneMin, nowUs: BigInt(nowUs()) }
  const pause = createPause(signal, SLICE_MS, nextTurn)
  const check = () => {
    if (findDataset(db, dataName)?.info.datasetId !== dataset.info.datasetId) throw unknownDataset(dataName)
  }
  return { dataset, reading: { db, env, pageRows, pause, check, paths, largeReads, signal } }
}

function toStateQuery(dataset: FoundDataset, { query, paths }: TableReading): StateQuery {
  const { conds, order, columns = [], offset, limit, area, span } = query
  const place = placeOf(dataset)
  const hasPeriod = [START, END].every((name) =>
    dataset.table.columns.some((column) => column.name === name && column.udtName === 'timestamptz'),
  )
  return {
    conds,
    order,
    offset,
    limit,
    columns: columns.length === 0 || place === undefined ? columns : [...columns, place.name],
    within:
      area === undefined || place === undefined
        ? undefined
        : { column: place.name, area: areaFor(area, place, paths.area ?? '$.geometry') },
    span: span === undefined || !hasPeriod ? undefined : { start: START, end: END, ...span },
  }
}

function toTableRow(
  columns: readonly StateColumn[],
  [rowId, ...values]: StateRow,
  place: StateColumn | undefined,
  env: ValueEnv,
): TableRow {
  let geometry: Geometry | null = null
  const properties: Record<string, unknown> = {}
  for (const [at, column] of columns.entries()) {
    const stored = values[at] ?? null
    const value = stored === null ? null : column.type.print(stored, env)
    if (column === place)
      geometry = value === null ? null : inWgs84(value as Geometry, column.srid) // it prints GeoJSON
    else setProperty(properties, column.name, value)
  }
  return { rowId: Number(rowId), geometry, properties }
}

/** Returns the first geometry column. */
function placeOf({ table }: Pick<FoundDataset, 'table'>): StateColumn | undefined {
  return table.columns.find(({ srid }) => srid !== null)
}

/**
 * Returns undefined for a dataset without geometry. The id is negative, those of loader tables are positive.
 */
function toTable(dataset: FoundDataset): LoaderTable | undefined {
  if (placeOf(dataset) === undefined) return undefined
  const { info, table } = dataset
  const columns = table.columns.map(toColumn)
  return {
    tableId: -info.datasetId,
    dataName: info.shortForm,
    tableName: table.tableName,
    schema: 'provenance',
    columns,
    columnByName: new Map(columns.map((column) => [column.name, column])),
    uniqueColumns: table.keyColumns,
  }
}

/** Types that loader tables do not have appear as text. */
function toColumn({ name, udtName, isNullable, rules, srid }: StateColumn): Column {
  return {
    name,
    udtName: isLoaderType(udtName) ? udtName : 'text',
    isNullable,
    columnDefault: null,
    length: rules.length,
    srid,
    isEncrypted: false,
    file: null,
  }
}

function isLoaderType(udtName: string): udtName is UdtName {
  return Object.hasOwn(LOADER_TYPES, udtName)
}
