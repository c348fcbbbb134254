import { canReproject, SRID_WGS84 } from '../../../geo/reproject.js'
import type { Geometry } from '../../../geo/types.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { areaFor, inWgs84 } from '../../columns/search-area.js'
import { setProperty } from '../../columns/set-property.js'
import type { StateColumn } from '../../columns/state-column.js'
import type { StatePaths, StateQuery, StateRow } from '../../datasets/states.js'
import type { FeatureQuery, FeatureSource, FeatureSources } from '../../features.js'
import { decryptValue } from '../../formats/decrypt-value.js'
import { handOver } from '../../hand-over.js'
import type { Keyring } from '../../keyring.js'
import { tableSource } from '../../records/table-source.js'
import type { LoaderTable, TableReader, TableRow } from '../../tables.js'
import type { LargeReads } from '../../work/large-reads.js'
import { createPause, type NextTurn } from '../../work/pause.js'
import { allCitations, type FoundCitation, findCitation, isCitation } from '../citations/catalog.js'
import { type Db, statement } from '../connection/database.js'
import { allDatasets, type FoundDataset, findDataset } from '../datasets/catalog.js'
import { isLargePage } from '../versions/large-rows.js'
import { countState, readState, type StateReading } from '../versions/read-state.js'
import { currentState, type TableState } from '../versions/versioned-table.js'
import { extentOfState, extentOfTable } from './extent.js'

interface FeatureSourcesOptions {
  readonly tables: TableReader
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** most rows of a page */
  readonly pageRows: number
  readonly keyring: Pick<Keyring, 'read'>
  /** true where features are read without a key: encrypted columns are left out then */
  readonly isOpen: boolean
  /** turns of reads that share the memory of a thread */
  readonly largeReads?: LargeReads
  /** µs UTC */
  nowUs(): number
  /** waits for the turn of the next slice of work; absent for a turn of the event loop */
  nextTurn?: NextTurn
}

const START = 'start_datetime'
const END = 'end_datetime'
/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
const PATHS: StatePaths = { conds: 'query', order: 'query', columns: 'query' }
const AREA_PATH = 'bbox'

/** Opens the feature sources of data.db. @param db a connection that sees committed rows only */
export function createFeatureSources(db: Db, options: FeatureSourcesOptions): FeatureSources {
  const { tables, isOpen } = options
  const sourceOfTable = (table: LoaderTable) =>
    tableSource(table, { tables, isOpen, extent: async () => extentOfTable(db, table) })
  return {
    async find(kind, name) {
      if (kind === 'table') {
        const table = await tables.find(name)
        // methods accept other spellings; a collection has one address
        return table?.dataName === name ? sourceOfTable(table) : undefined
      }
      if (kind === 'dataset') {
        const dataset = findDataset(db, name)
        return dataset?.info.shortForm === name ? sourceOfDataset(db, dataset, options) : undefined
      }
      const citation = findCitation(db, name)
      return citation?.info.longForm === name ? sourceOfCitation(db, citation, options) : undefined
    },
    async list(kind) {
      if (kind === 'table') return (await tables.list()).map((table) => sourceOfTable(table))
      if (kind === 'dataset') return allDatasets(db).map((found) => sourceOfDataset(db, found, options))
      return allCitations(db).map((found) => sourceOfCitation(db, found, options))
    },
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
    version: async () => `${info.datasetId}.${statement<number>(db, lastTx).pluck().get(info.datasetId)}`,
  }
}

function sourceOfCitation(
  db: Db,
  { info, state, rowCount }: FoundCitation,
  options: FeatureSourcesOptions,
): FeatureSource {
  const check = () => {
    if (!isCitation(db, info.citationId)) throw new Error(`the citation ${info.longForm} was removed`)
  }
  const source = sourceOfState(db, state, options, check)
  return {
    ...source,
    kind: 'citation',
    name: info.longForm,
    description: `Records of ${info.datasetName} as they were cited`,
    version: async () => String(info.citationId), // a cited state never changes
    count: (query, signal) =>
      Object.keys(query).length === 0 && rowCount !== null
        ? Promise.resolve(rowCount)
        : source.count(query, signal),
  }
}

function isShown({ isEncrypted }: { isEncrypted: boolean }, { isOpen }: FeatureSourcesOptions): boolean {
  return !isEncrypted || !isOpen
}

type StateSource = Omit<FeatureSource, 'kind' | 'name' | 'description' | 'version'>

function sourceOfState(
  db: Db,
  state: TableState,
  options: FeatureSourcesOptions,
  check: () => void = () => undefined,
): StateSource {
  // features are in WGS 84: a column whose system cannot be converted is a property
  const place = state.columns.find(({ srid }) => srid !== null && canReproject(srid, SRID_WGS84))
  const shown = state.columns.filter(
    (column) => column !== place && !column.isFile && isShown(column, options),
  )
  const hasPeriod = [START, END].every((name) =>
    shown.some((column) => column.name === name && column.udtName === 'timestamptz'),
  )
  const columns = (place === undefined ? shown : [...shown, place]).map(({ name }) => name)
  const reading = (signal?: AbortSignal) => ({ ...readingOf(options, signal), db, check })
  const toQuery = (query: FeatureQuery) => toStateQuery(query, { columns, place, hasPeriod })
  return {
    columns: shown.map(({ name, udtName, isNullable, isEncrypted, type }) => ({
      name,
      udtName,
      isNullable,
      isQueryable: !isEncrypted && type.order !== null,
    })),
    hasGeometry: place !== undefined,
    hasPeriod,
    extent: async () =>
      extentOfState(db, state, place === undefined ? undefined : state.columns.indexOf(place)),
    pages: (query, signal) => printPages(reading(signal), state, toQuery(query), place, options),
    count: (query, signal) => countState(reading(signal), state, toQuery(query)),
  }
}

/** Returns the options of a reading that do not depend on what is read. */
function readingOf(
  options: FeatureSourcesOptions,
  signal: AbortSignal | undefined,
): Omit<StateReading, 'db' | 'check'> {
  return {
    env: envOf(options),
    pageRows: options.pageRows,
    pause: createPause(signal, SLICE_MS, options.nextTurn),
    paths: PATHS,
    largeReads: options.largeReads,
    signal,
  }
}

/** Columns of a source, the one that is its geometry, and whether its rows have a period. */
interface SourceColumns {
  readonly columns: readonly string[]
  readonly place: StateColumn | undefined
  readonly hasPeriod: boolean
}

function toStateQuery(
  { area, span, ...rest }: FeatureQuery,
  { columns, place, hasPeriod }: SourceColumns,
): StateQuery {
  return {
    ...rest,
    columns,
    within:
      area === undefined || place === undefined
        ? undefined
        : { column: place.name, area: areaFor(area, place, AREA_PATH), isNullIn: true },
    span: span === undefined || !hasPeriod ? undefined : { start: START, end: END, ...span },
  }
}

async function* printPages(
  reading: StateReading,
  state: TableState,
  query: StateQuery,
  place: StateColumn | undefined,
  { keyring }: FeatureSourcesOptions,
): AsyncGenerator<TableRow[]> {
  const { columns, pages } = readState(reading, state, query)
  const print = (column: StateColumn, stored: Stored) => {
    if (stored === null) return null
    return column.isEncrypted
      ? decryptValue(state.table.name, column.name, stored, keyring)
      : column.type.print(stored, reading.env)
  }
  for await (const rows of pages) {
    const page = rows.map((row) => toRow(columns, row, place, print))
    if (isLargePage(rows)) yield* handOver(page)
    else yield page
  }
}

function toRow(
  columns: readonly StateColumn[],
  [rowId, ...values]: StateRow,
  place: StateColumn | undefined,
  print: (column: StateColumn, stored: Stored) => unknown,
): TableRow {
  let geometry: Geometry | null = null
  const properties: Record<string, unknown> = {}
  for (const [at, column] of columns.entries()) {
    const value = print(column, values[at] ?? null)
    if (column === place)
      geometry = value === null ? null : inWgs84(value as Geometry, column.srid) // it prints GeoJSON
    else setProperty(properties, column.name, value)
  }
  return { rowId: Number(rowId), geometry, properties }
}

function envOf({ timeZoneMin, nowUs }: FeatureSourcesOptions): ValueEnv {
  return { timeZoneMin, nowUs: BigInt(nowUs()) }
}
