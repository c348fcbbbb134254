import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import type { Keyring } from '../../keyring.js'
import type { LoaderTable, Span, TableReader, TableRow } from '../../tables.js'
import { allCitations, type FoundCitation, findCitation, isCitation } from '../citations/catalog.js'
import type { StatePaths, StateQuery, TableState } from '../citations/plan.js'
import { decryptValue } from '../citations/print.js'
import { countState, readState, type StateReading, type StateRow } from '../citations/state.js'
import { type Db, statement } from '../connection/database.js'
import { createPause } from '../connection/pause.js'
import { allDatasets, type FoundDataset, findDataset } from '../datasets/catalog.js'
import type { StateColumn } from '../datasets/column.js'
import { currentState } from '../datasets/delete.js'
import { countTable } from '../tables/count.js'
import { extentOfState, extentOfTable, type FeatureExtent } from './extent.js'

export type FeatureKind = 'table' | 'dataset' | 'citation'

/** A column as a property of features. */
export interface FeatureColumn {
  readonly name: string
  readonly udtName: string
  readonly isNullable: boolean
  /** it has an order, and no secret: a query may compare it */
  readonly isQueryable: boolean
}

/** Which features; each part that is absent asks for nothing. */
export interface FeatureQuery {
  /** features whose geometry intersects it exactly, and those that have none: so the standard has it */
  area?: PreparedArea
  /** features whose [start, end) overlaps it, half-open, µs UTC */
  span?: Span
  conds?: unknown
  afterId?: number
  beforeId?: number
  /** the last `limit` features instead of the first */
  isFromEnd?: boolean
  limit?: number
}

/** A loader table, the current rows of a dataset, or a cited state, as features in the order of their row ids. */
export interface FeatureSource {
  readonly kind: FeatureKind
  readonly name: string
  readonly description: string
  /** without the geometry, and without columns of files, whose bytes `getfileapi.get_file` brings */
  readonly columns: readonly FeatureColumn[]
  readonly hasGeometry: boolean
  /** it has a start and an end that a span is compared with */
  readonly hasPeriod: boolean
  /** a text that another state of the rows does not have */
  version(): string
  extent(): FeatureExtent
  /** @throws AppError BAD_CONDITION */
  pages(query: FeatureQuery, signal?: AbortSignal): AsyncGenerator<TableRow[]>
  /** @throws AppError BAD_CONDITION, CANCELLED */
  count(query: FeatureQuery, signal?: AbortSignal): Promise<number>
}

export interface FeatureSources {
  find(kind: FeatureKind, name: string): FeatureSource | undefined
  list(kind: FeatureKind): FeatureSource[]
}

export interface FeatureSourcesOptions {
  readonly tables: TableReader
  /** `service.timeZone` in minutes east of UTC */
  readonly timeZoneMin: number
  readonly pageRows: number
  readonly keyring: Pick<Keyring, 'decrypt'>
  /** µs UTC */
  nowUs(): number
}

const START = 'start_datetime'
const END = 'end_datetime'
const SLICE_MS = 5
const PATHS: StatePaths = { conds: 'query', order: 'query', columns: 'query' }

/** @param db a connection that sees committed rows only */
export function createFeatureSources(db: Db, options: FeatureSourcesOptions): FeatureSources {
  const { tables } = options
  return {
    find(kind, name) {
      if (kind === 'table') {
        const table = tables.find(name)
        // other spellings are for calls; a collection has one address
        return table?.dataName === name ? sourceOfTable(db, table, options) : undefined
      }
      if (kind === 'dataset') {
        const dataset = findDataset(db, name)
        return dataset?.info.shortForm === name ? sourceOfDataset(db, dataset, options) : undefined
      }
      const citation = findCitation(db, name)
      return citation?.info.longForm === name ? sourceOfCitation(db, citation, options) : undefined
    },
    list(kind) {
      if (kind === 'table') return tables.list().map((table) => sourceOfTable(db, table, options))
      if (kind === 'dataset') return allDatasets(db).map((found) => sourceOfDataset(db, found, options))
      return allCitations(db).map((found) => sourceOfCitation(db, found, options))
    },
  }
}

function sourceOfTable(db: Db, table: LoaderTable, options: FeatureSourcesOptions): FeatureSource {
  const shown = table.columns.filter(({ name, file }) => name !== 'location' && file === null)
  const names = shown.map(({ name }) => name)
  return {
    kind: 'table',
    name: table.dataName,
    description: `Data loader table ${table.schema}.${table.tableName}`,
    columns: shown.map(({ name, udtName, isNullable, isEncrypted }) => ({
      ...{ name, udtName, isNullable },
      isQueryable: !isEncrypted && typeOf(udtName).sortKey !== null,
    })),
    hasGeometry: true,
    hasPeriod: true,
    version: () => `${table.tableId}.${options.tables.dataVersion(table)}`,
    extent: () => extentOfTable(db, table),
    pages: (query, signal) =>
      options.tables.pages(table, { ...query, columns: names, isNowhereIn: true }, signal, PATHS),
    count: (query, signal) =>
      countTable(db, table, { ...query, isNowhereIn: true }, envOf(options), PATHS, signal),
  }
}

function sourceOfDataset(
  db: Db,
  { info, table }: FoundDataset,
  options: FeatureSourcesOptions,
): FeatureSource {
  const lastTx = 'SELECT last_tx FROM dataset WHERE dataset_id = ?'
  return {
    ...sourceOfState(db, currentState(table), options),
    kind: 'dataset',
    name: info.shortForm,
    description: `Current records of the dataset ${info.longForm}`,
    version: () => `${info.datasetId}.${statement<number>(db, lastTx).pluck().get(info.datasetId)}`,
  }
}

function sourceOfCitation(
  db: Db,
  { info, state, rowCount }: FoundCitation,
  options: FeatureSourcesOptions,
): FeatureSource {
  const check = () => {
    if (!isCitation(db, info.citationId)) throw new Error(`the citation ${info.longForm} has gone`)
  }
  const source = sourceOfState(db, state, options, check)
  return {
    ...source,
    kind: 'citation',
    name: info.longForm,
    description: `Records of ${info.datasetName} as they were cited`,
    version: () => String(info.citationId), // what is cited never changes
    count: (query, signal) =>
      Object.keys(query).length === 0 && rowCount !== null
        ? Promise.resolve(rowCount)
        : source.count(query, signal),
  }
}

type StateSource = Omit<FeatureSource, 'kind' | 'name' | 'description' | 'version'>

function sourceOfState(
  db: Db,
  state: TableState,
  options: FeatureSourcesOptions,
  check?: () => void,
): StateSource {
  const place = state.columns.find(({ srid }) => srid !== null)
  const shown = state.columns.filter((column) => column !== place && !column.isFile)
  const hasPeriod = [START, END].every((name) =>
    shown.some((column) => column.name === name && column.udtName === 'timestamptz'),
  )
  const columns = (place === undefined ? shown : [...shown, place]).map(({ name }) => name)
  const reading = (signal: AbortSignal | undefined): StateReading => ({
    ...{ db, env: envOf(options), pageRows: options.pageRows, pause: createPause(signal, SLICE_MS) },
    ...(check === undefined ? {} : { check }),
  })
  const toStateQuery = ({ area, span, ...rest }: FeatureQuery): StateQuery => ({
    ...rest,
    columns,
    within:
      area === undefined || place === undefined ? undefined : { column: place.name, area, isNullIn: true },
    span: span === undefined || !hasPeriod ? undefined : { start: START, end: END, ...span },
  })
  return {
    columns: shown.map(({ name, udtName, isNullable, isEncrypted, type }) => ({
      ...{ name, udtName, isNullable },
      isQueryable: !isEncrypted && type.sortKey !== null,
    })),
    hasGeometry: place !== undefined,
    hasPeriod,
    extent: () => extentOfState(db, state, place === undefined ? undefined : state.columns.indexOf(place)),
    pages: (query, signal) => printPages(reading(signal), state, toStateQuery(query), place, options),
    count: (query, signal) => countState(reading(signal), state, toStateQuery(query), PATHS),
  }
}

async function* printPages(
  reading: StateReading,
  state: TableState,
  query: StateQuery,
  place: StateColumn | undefined,
  { keyring }: FeatureSourcesOptions,
): AsyncGenerator<TableRow[]> {
  const { columns, pages } = readState(reading, state, query, PATHS)
  const print = (column: StateColumn, stored: Stored) => {
    if (stored === null) return null
    return column.isEncrypted
      ? decryptValue(state.table, column, stored, keyring)
      : column.type.print(stored, reading.env)
  }
  for await (const rows of pages) yield rows.map((row) => toRow(columns, row, place, print))
}

function toRow(
  columns: readonly StateColumn[],
  [rowId, ...values]: StateRow,
  place: StateColumn | undefined,
  print: (column: StateColumn, stored: Stored) => unknown,
): TableRow {
  let geometry: TableRow['geometry'] = null
  const properties: Record<string, unknown> = {}
  for (const [at, column] of columns.entries()) {
    const value = print(column, values[at] as Stored)
    if (column === place) geometry = value as TableRow['geometry']
    else if (column.name === '__proto__')
      Object.defineProperty(properties, column.name, { value, enumerable: true })
    else properties[column.name] = value
  }
  return { rowId: Number(rowId), geometry, properties }
}

function envOf({ timeZoneMin, nowUs }: FeatureSourcesOptions): ValueEnv {
  return { timeZoneMin, nowUs: BigInt(nowUs()) }
}
