import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { LOADER_TYPES, type UdtName } from '../../columns/column-types.js'
import type { Column, LoaderTable, TableQuery, TableReader, TableRow } from '../../tables.js'
import type { StatePaths, StateQuery } from '../citations/plan.js'
import { readState, type StateRow } from '../citations/state.js'
import { type Db, statement } from '../connection/database.js'
import { createPause } from '../connection/pause.js'
import { allDatasets, type FoundDataset, findDataset, unknownDataset } from './catalog.js'
import type { StateColumn } from './column.js'
import { currentState } from './delete.js'

export interface DatasetTablesOptions {
  /** `service.timeZone` in minutes east of UTC */
  timeZoneMin: number
  /** rows of a page */
  pageRows: number
  /** µs UTC */
  nowUs(): number
}

const SLICE_MS = 5
const START = 'start_datetime'
const END = 'end_datetime'
const DEFAULT_PATHS: StatePaths = {
  conds: '$.properties.conds',
  order: '$.properties.order',
  columns: '$.properties.columns',
}

/**
 * Datasets with a geometry column as tables of event data: their current rows, the first geometry column in the place of
 * `location`. A period is compared with the columns `start_datetime` and `end_datetime` where a dataset has both.
 *
 * @param db a connection that sees committed rows only
 */
export function createDatasetTables(db: Db, options: DatasetTablesOptions): TableReader {
  return {
    find(name) {
      const dataset = findDataset(db, name)
      return dataset === undefined ? undefined : toTable(dataset)
    },
    list: () => allDatasets(db).flatMap((dataset) => toTable(dataset) ?? []),
    dataVersion: ({ dataName }) =>
      statement<number>(db, 'SELECT last_tx FROM dataset WHERE short_form = ?').pluck().get(dataName) ?? -1,
    pages: (table, query, signal, paths = DEFAULT_PATHS) =>
      readPages(db, options, table, query, signal, paths),
  }
}

/** Loader tables, and behind them datasets. A name of both is the loader table's. */
export function withDatasets(tables: TableReader, datasets: TableReader): TableReader {
  const readerOf = ({ tableId }: LoaderTable) => (tableId < 0 ? datasets : tables)
  return {
    find: (name) => tables.find(name) ?? datasets.find(name),
    list: () => [...tables.list(), ...datasets.list()],
    dataVersion: (table) => readerOf(table).dataVersion(table),
    pages: (table, query, signal, paths) => readerOf(table).pages(table, query, signal, paths),
  }
}

async function* readPages(
  db: Db,
  options: DatasetTablesOptions,
  { dataName }: LoaderTable,
  query: TableQuery,
  signal: AbortSignal | undefined,
  paths: StatePaths,
): AsyncGenerator<TableRow[]> {
  const dataset = findDataset(db, dataName)
  if (dataset === undefined) throw unknownDataset(dataName)
  const { timeZoneMin, pageRows } = options
  const env: ValueEnv = { timeZoneMin, nowUs: BigInt(options.nowUs()) }
  const place = placeOf(dataset)?.name
  const pause = createPause(signal, SLICE_MS)
  const wanted = toStateQuery(dataset, query)
  const check = () => {
    if (findDataset(db, dataName)?.info.datasetId !== dataset.info.datasetId) throw unknownDataset(dataName)
  }
  const { columns, pages } = readState(
    { db, env, pageRows, pause, check },
    currentState(dataset.table),
    wanted,
    paths,
  )
  for await (const rows of pages) yield rows.map((row) => toTableRow(columns, row, place, env))
}

function toStateQuery({ table }: FoundDataset, query: TableQuery): StateQuery {
  const { conds, order, columns = [], offset, limit, area, span } = query
  const place = placeOf({ table })?.name
  const hasPeriod = [START, END].every((name) =>
    table.columns.some((column) => column.name === name && column.udtName === 'timestamptz'),
  )
  return {
    ...{ conds, order, offset, limit },
    columns: columns.length === 0 || place === undefined ? columns : [...columns, place],
    within: withinOf(place, area),
    span: span === undefined || !hasPeriod ? undefined : { start: START, end: END, ...span },
  }
}

function withinOf(place: string | undefined, area: PreparedArea | undefined): StateQuery['within'] {
  return area === undefined || place === undefined ? undefined : { column: place, area }
}

function toTableRow(
  columns: readonly StateColumn[],
  [rowId, ...values]: StateRow,
  place: string | undefined,
  env: ValueEnv,
): TableRow {
  let geometry: TableRow['geometry'] = null
  const properties: Record<string, unknown> = {}
  for (const [at, { name, type }] of columns.entries()) {
    const stored = values[at] as Stored
    const value = stored === null ? null : type.print(stored, env)
    if (name === place) geometry = value as TableRow['geometry']
    else if (name === '__proto__') Object.defineProperty(properties, name, { value, enumerable: true })
    else properties[name] = value
  }
  return { rowId: Number(rowId), geometry, properties }
}

function placeOf({ table }: Pick<FoundDataset, 'table'>): StateColumn | undefined {
  return table.columns.find(({ srid }) => srid !== null)
}

/** Undefined for a dataset without geometry. Its id is negative: ids of loader tables are not. */
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

/** Types that no loader table has are told as text. */
function toColumn({ name, udtName, isNullable, rules, srid }: StateColumn): Column {
  return {
    name,
    udtName: Object.hasOwn(LOADER_TYPES, udtName) ? (udtName as UdtName) : 'text',
    isNullable,
    columnDefault: null,
    length: rules.length,
    srid,
    isEncrypted: false,
    file: null,
  }
}
