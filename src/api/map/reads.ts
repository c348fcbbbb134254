import { type Caller, requireScope } from '../../auth/caller.js'
import type { Config } from '../../config/config.js'
import { formatDatetimeShort } from '../../datetime.js'
import { countPositions } from '../../geo/coordinates.js'
import { isFault } from '../../geo/fault.js'
import type { MeshDegree } from '../../geo/mesh.js'
import { type PreparedArea, prepareArea } from '../../geo/prepared-area.js'
import type { Geometry } from '../../geo/types.js'
import { decodeWkb, encodeWkb } from '../../geo/wkb.js'
import { parseSafe } from '../../json/exact-json.js'
import { jsonPieces } from '../../json/json-pieces.js'
import {
  isDatasetTable,
  type LoaderTable,
  type Span,
  type TableQuery,
  type TableReader,
  type TableRow,
} from '../../storage/tables.js'
import type { NextTurn } from '../../storage/work/pause.js'
import { unknownTable } from '../../tables/loader.js'
import { readMeshCells } from '../../tables/mesh-riskmap.js'
import { findRiskSources, type RiskCell, type RiskQuery, readStoredCells } from '../../tables/riskmap.js'
import type { ReadHandler } from '../../worker/read-host.js'
import { collectionText } from '../feature-collection.js'

/** Part of the caller that decides what a read may see. */
type Rights = Pick<Caller, 'scopes'>

/** Area of a read: as WKB where it crosses threads, because copying a large object takes ten times as long. */
type AreaOfRead = Geometry | Uint8Array | null

/** Request for event data. */
export interface EventdataRead extends Rights {
  readonly table: string
  readonly area: AreaOfRead
  readonly query: Omit<TableQuery, 'area' | 'conds'>
  /** JSON text of the condition, null for none: a number that is kept as text cannot be cloned */
  readonly conds: string | null
}

/** Request for risk map cells. */
export interface RiskmapRead extends Rights {
  readonly area: AreaOfRead
  readonly period: Span
  readonly themes: readonly string[]
  /** absent for the cells as they are stored */
  readonly degree?: number
}

/** Names of the reads of this room. */
export const EVENTDATA_READ = 'map.eventdata'
export const RISKMAP_READ = 'map.riskmap'

/** Parts of a reader thread that the reads of this room use. */
interface MapSource {
  readonly tables: Pick<TableReader, 'find' | 'pages'>
  readonly config: Pick<Config, 'riskmap' | 'limits'>
  /** waits for the turn of the next slice of work; absent for a turn of the event loop */
  nextTurn?: NextTurn
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
}

/** Returns the reads of event data and risk maps, for a reader thread. */
export function mapReads(source: MapSource): Record<string, ReadHandler> {
  return {
    async [EVENTDATA_READ](read: EventdataRead, { signal }) {
      const table = await source.tables.find(read.table)
      if (table === undefined) throw unknownTable(read.table)
      requireReading(table, read)
      return { text: collectionText(undefined, readFeatures(source, table, wholeQuery(read), signal)) }
    },
    async [RISKMAP_READ](request: RiskmapRead, { signal }) {
      const from = formatDatetimeShort(request.period.fromUs, source.timeZoneMin)
      const cells = await cellsOf(source, request, signal)
      return { text: collectionText(COLLECTION_NAME, featureTexts(cells, from)) }
    },
  }
}

/**
 * Refuses rows of a dataset to keys that may not read datasets; `map:read` alone reads loader tables. The
 * table is the one that is read, whatever had its name when the call came.
 *
 * @throws AppError FORBIDDEN
 */
function requireReading(table: LoaderTable, caller: Rights): void {
  if (isDatasetTable(table)) requireScope(caller, 'dataset:read')
}

const COLLECTION_NAME = 'requestExtraRiskmapResponse'

/** Returns a read in the form in which it crosses threads. */
export function toThread<R extends { readonly area: AreaOfRead }>(read: R): R {
  const { area } = read
  return area === null || area instanceof Uint8Array ? read : { ...read, area: encodeWkb(area) }
}

/** Returns the query of a read, with its condition and area. */
export function wholeQuery({ area, conds, query }: EventdataRead): TableQuery {
  const prepared = preparedOf(area)
  return {
    ...query,
    ...(conds === null ? {} : { conds: parseSafe(conds) }),
    ...(prepared === undefined ? {} : { area: prepared }),
  }
}

/** Returns undefined for everywhere. */
function preparedOf(area: AreaOfRead): PreparedArea | undefined {
  if (area === null) return undefined
  const geometry = area instanceof Uint8Array ? decodeWkb(area) : area
  // no test: the bytes are those of `toThread`
  if (isFault(geometry)) throw new Error(`an area of a read is damaged: ${geometry.found}`)
  return prepareArea(geometry)
}

/** Most positions of the area of a small read: one comparison of it stays below a millisecond. */
const SMALL_POSITIONS = 100

/** True when the area is no obstacle to a small read. */
export function hasSmallArea({ area }: Pick<EventdataRead, 'area'>): boolean {
  if (area === null) return true
  if (area instanceof Uint8Array) return false // it is on its way to a thread
  return area.type !== 'GeometryCollection' && countPositions(area.coordinates) <= SMALL_POSITIONS
}

/** Returns a whole FeatureCollection. */
export function eventsText(table: LoaderTable, rows: readonly TableRow[]): string {
  const name = nameInFeatures(table)
  const texts = rows.map((row) => JSON.stringify(eventOf(name, row)))
  return `{"type":"FeatureCollection","features":[${texts.join(',')}]}`
}

/** Yields texts of Features; in pieces that of a row which comes alone, as a large one does. */
async function* readFeatures(
  { tables }: MapSource,
  table: LoaderTable,
  query: TableQuery,
  signal: AbortSignal,
): AsyncGenerator<string[] | Generator<string>> {
  const name = nameInFeatures(table)
  for await (const page of tables.pages(table, query, signal)) {
    const [row] = page
    if (page.length === 1 && row !== undefined) yield jsonPieces(eventOf(name, row))
    else yield page.map((one) => JSON.stringify(eventOf(name, one)))
  }
}

/** Returns the property `table` of a table's Features. */
function nameInFeatures({ schema, tableName }: LoaderTable): string {
  return `${schema}.${tableName}`
}

/** Returns a Feature. The property `table` comes first; a column of that name replaces it. */
function eventOf(table: string, { geometry, properties }: TableRow): object {
  return { type: 'Feature', geometry, properties: { table, ...properties } }
}

async function cellsOf(
  { tables, config, nextTurn }: MapSource,
  { scopes, area, period, themes, degree }: RiskmapRead,
  signal: AbortSignal,
): Promise<AsyncGenerator<RiskCell[]>> {
  const sources = await findRiskSources(tables, config.riskmap, themes)
  for (const { table } of sources) requireReading(table, { scopes })
  const query: RiskQuery = {
    area: preparedOf(area),
    period,
    sources,
    levelColumn: config.riskmap.levelColumn,
  }
  if (degree === undefined) return readStoredCells(tables, query, signal)
  // 1 to 5, as the schema requires
  const mesh = { degree: degree as MeshDegree, maxCells: config.limits.meshCells, nextTurn }
  return readMeshCells(tables, query, mesh, signal)
}

async function* featureTexts(cells: AsyncIterable<RiskCell[]>, from: string): AsyncGenerator<string[]> {
  for await (const batch of cells) yield batch.map((cell) => cellText(cell, from))
}

/** `datetime` is the start of the cell's slot, or that of the period when the slot has no start. */
function cellText({ geometry, theme, start, level }: RiskCell, from: string): string {
  const hasStart = start !== null && start !== undefined && start !== '-infinity'
  const properties = { theme, datetime: hasStart ? start : from, risk: level }
  return JSON.stringify({ type: 'Feature', geometry, properties })
}
