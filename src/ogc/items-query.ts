import { MAX_US, MIN_US, parseDatetime } from '../datetime.js'
import { AppError } from '../errors.js'
import { boxPolygon } from '../geo/bbox.js'
import { prepareArea } from '../geo/prepared-area.js'
import type { Bbox, Geometry } from '../geo/types.js'
import type { FeatureColumn, FeatureQuery, FeatureSource } from '../storage/features.js'
import { queryables, RESERVED } from './collection.js'
import { CRS_URIS, CRS84, type Crs, findCrs, toLngLatBox } from './crs.js'

/** Checked query of a request for items. */
export interface ItemsQuery {
  /** selection of features, without the page */
  readonly filter: FeatureQuery
  /** equal for queries that select the same features */
  readonly key: string
  readonly limit: number
  readonly afterId: number | undefined
  readonly beforeId: number | undefined
  readonly crs: Crs
  /** returns the count and no features */
  readonly isCountOnly: boolean
}

export const DEFAULT_LIMIT = 100

/**
 * Parses the query of a request for items.
 *
 * @throws AppError INVALID_PARAMS with the parameter and the expected value
 */
export function readItemsQuery(
  query: URLSearchParams,
  source: FeatureSource,
  { maxFeatures, timeZoneMin }: { maxFeatures: number; timeZoneMin: number },
): ItemsQuery {
  const properties = new Map(queryables(source).map((column) => [column.name, column]))
  requireKnown(query, [...RESERVED, ...properties.keys()])
  const bbox = query.get('bbox')
  const boxCrs = crsOf(query, 'bbox-crs')
  const datetime = query.get('datetime')
  const conds = [...query].flatMap(([name, text]) => {
    const column = properties.get(name)
    return column === undefined ? [] : [{ '=': [name, operandOf(column, text)] }]
  })
  const limit = readInteger(query, 'limit', 1) ?? DEFAULT_LIMIT
  const afterId = readInteger(query, 'after', 0)
  const beforeId = readInteger(query, 'before', 1)
  if (afterId !== undefined && beforeId !== undefined) refuse('before', 'after beside it', 'one of the two')
  return {
    filter: {
      ...(bbox === null ? {} : { area: prepareArea(readBox(bbox, boxCrs)) }),
      ...(datetime === null || !source.hasPeriod ? {} : { span: readSpan(datetime, timeZoneMin) }),
      ...(conds.length === 0 ? {} : { conds: { and: conds } }),
    },
    key: JSON.stringify([bbox, query.get('bbox-crs'), datetime, conds]),
    limit: Math.min(limit, maxFeatures), // the standard allows a larger value and a smaller page
    afterId,
    beforeId,
    crs: crsOf(query, 'crs'),
    isCountOnly: isHits(query.get('resultType')),
  }
}

/** @throws AppError INVALID_PARAMS for unknown and repeated parameters */
export function requireKnown(query: URLSearchParams, known: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of query.keys()) {
    if (!known.includes(name)) refuse(name, 'an unknown parameter', `one of ${known.slice(0, 30).join(', ')}`)
    if (seen.has(name)) refuse(name, 'it twice', 'it once')
    seen.add(name)
  }
}

/** Returns the system that a parameter names; WGS 84 with the longitude first if absent. */
export function crsOf(query: URLSearchParams, name: string): Crs {
  const uri = query.get(name) ?? CRS84
  const crs = findCrs(uri)
  if (crs === undefined) refuse(name, JSON.stringify(uri.slice(0, 100)), `one of ${CRS_URIS.join(', ')}`)
  return crs
}

/** Parses four numbers, or six with heights, which are ignored. */
function readBox(text: string, crs: Crs): Geometry {
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)))
  const isFit = (numbers.length === 4 || numbers.length === 6) && numbers.every(Number.isFinite)
  if (!isFit) refuse('bbox', JSON.stringify(text.slice(0, 100)), 'four or six numbers, separated by commas')
  const corners = numbers.length === 4 ? numbers : [0, 1, 3, 4].map((at) => numbers[at] as number)
  const [west, south, east, north] = toLngLatBox(corners as Bbox, crs)
  if (south > north)
    refuse('bbox', JSON.stringify(text.slice(0, 100)), 'the southern edge before the northern one')
  if (west <= east) return boxArea([west, south, east, north])
  if (west > 180 || east < -180)
    refuse(
      'bbox',
      JSON.stringify(text.slice(0, 100)),
      'a western edge of at most 180 if it is greater than the eastern one',
    )
  // across the antimeridian: no stored geometry crosses it, so the box is split there
  return {
    type: 'GeometryCollection',
    geometries: [boxArea([west, south, 180, north]), boxArea([-180, south, east, north])],
  }
}

/** A box without width or height becomes a line or point: a polygon without area intersects nothing. */
function boxArea([west, south, east, north]: Bbox): Geometry {
  if (west < east && south < north) return boxPolygon([west, south, east, north])
  if (west === east && south === north) return { type: 'Point', coordinates: [west, south] }
  return {
    type: 'LineString',
    coordinates: [
      [west, south],
      [east, north],
    ],
  }
}

/** Parses an instant, a day, or a closed interval of them; `..` or nothing leaves an end open. */
function readSpan(text: string, timeZoneMin: number): { fromUs: bigint; untilUs: bigint } {
  const [first = '', second, ...more] = text.split('/')
  if (more.length > 0) refuse('datetime', JSON.stringify(text.slice(0, 100)), 'at most one /')
  if (second === undefined) return readInstant(first, timeZoneMin)
  const isOpen = (end: string) => end === '' || end === '..'
  const fromUs = isOpen(first) ? MIN_US : readInstant(first, timeZoneMin).fromUs
  const untilUs = isOpen(second) ? MAX_US + 1n : readInstant(second, timeZoneMin).untilUs
  if (fromUs >= untilUs)
    refuse('datetime', JSON.stringify(text.slice(0, 100)), 'an end at or after the start')
  return { fromUs, untilUs }
}

const US_PER_DAY = 86_400_000_000n

/** GDAL writes a day as `2026-01-01T`. */
function readInstant(text: string, timeZoneMin: number): { fromUs: bigint; untilUs: bigint } {
  const trimmed = text.trim().replace(/T$/, '')
  const parsed = parseDatetime(trimmed, timeZoneMin)
  if (typeof parsed !== 'bigint')
    refuse(
      'datetime',
      JSON.stringify(parsed.found),
      `${parsed.expected}, or .. (write a + of the offset as %2B)`,
    )
  const isDay = trimmed.length === 'yyyy-mm-dd'.length
  return { fromUs: parsed, untilUs: parsed + (isDay ? US_PER_DAY : 1n) }
}

function readInteger(query: URLSearchParams, name: string, least: number): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least)) refuse(name, JSON.stringify(text.slice(0, 40)), `a whole number from ${least}`)
  return value
}

function isHits(text: string | null): boolean {
  if (text === null || text === 'results') return false
  if (text === 'hits') return true
  refuse('resultType', JSON.stringify(text.slice(0, 40)), 'hits or results')
}

const NUMBERS = ['int2', 'int4', 'float4', 'float8']

/** Returns the operand of a condition for the text of a parameter; the condition checks other types. */
function operandOf({ name, udtName }: FeatureColumn, text: string): unknown {
  if (udtName === 'bool') {
    if (text === 'true' || text === 'false') return text === 'true'
    if (text === '1' || text === '0') return text === '1' // GDAL writes booleans so
    refuse(name, JSON.stringify(text.slice(0, 40)), 'true or false')
  }
  if (!NUMBERS.includes(udtName)) return text
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(value)) refuse(name, JSON.stringify(text.slice(0, 40)), 'a number')
  return value
}

function refuse(parameter: string, found: string, expected: string): never {
  const shown = parameter.slice(0, 60)
  const message = `${shown}: found ${found}, expected ${expected}`
  throw new AppError('INVALID_PARAMS', { parameter: shown }, { message })
}
