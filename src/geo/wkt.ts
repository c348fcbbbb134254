import type { GeometryFault } from './fault.js'
import { GEOMETRY_LIMITS } from './parse-geometry.js'
import type { Geometry, Position } from './types.js'

const TYPES: Record<string, Geometry['type']> = {
  POINT: 'Point',
  LINESTRING: 'LineString',
  POLYGON: 'Polygon',
  MULTIPOINT: 'MultiPoint',
  MULTILINESTRING: 'MultiLineString',
  MULTIPOLYGON: 'MultiPolygon',
  GEOMETRYCOLLECTION: 'GeometryCollection',
}

/** WKT, `POINT Z (1 2 3)` with heights. A position without height among others that have one is written without it. */
export function encodeWkt(geometry: Geometry): string {
  const tag = geometry.type.toUpperCase()
  if (geometry.type === 'GeometryCollection') {
    if (geometry.geometries.length === 0) return `${tag} EMPTY`
    return `${tag} (${geometry.geometries.map(encodeWkt).join(', ')})`
  }
  if (geometry.coordinates.length === 0) return `${tag} EMPTY`
  const body = nestedText(geometry.coordinates)
  const text = geometry.type === 'Point' ? `(${body})` : body
  return `${tag}${hasHeight(geometry.coordinates) ? ' Z' : ''} ${text}`
}

/**
 * Reads WKT or EWKT (`SRID=4326;POINT(1 2)`; the SRID is skipped), any case, `POINT Z` or `POINTZ`, and both spellings of
 * a multipoint. Measures (M) are refused. Only the form is checked: see `parseGeometry` for ranges and rings.
 */
export function decodeWkt(text: string): Geometry | GeometryFault {
  const reader: Reader = { text, at: 0, count: 0, fault: undefined }
  const srid = /^\s*SRID\s*=\s*\d{1,6}\s*;/i.exec(text)
  if (srid !== null) reader.at = srid[0].length
  const geometry = readGeometry(reader, 0)
  skipSpace(reader)
  if (reader.fault === undefined && reader.at < text.length) fail(reader, 'the end of the text')
  return reader.fault ?? (geometry as Geometry)
}

type Nested = readonly number[] | readonly Nested[]

/** Brackets for each level of nesting; numbers as JavaScript prints them, which is the shortest form that reads back. */
function nestedText(coordinates: Nested): string {
  if (coordinates.length === 0) return 'EMPTY'
  if (typeof coordinates[0] === 'number') return coordinates.join(' ')
  return `(${(coordinates as readonly Nested[]).map(nestedText).join(', ')})`
}

function hasHeight(coordinates: Nested): boolean {
  if (typeof coordinates[0] === 'number') return coordinates.length > 2
  return (coordinates as readonly Nested[]).some(hasHeight)
}

/** The text, and how far it was read. */
interface Reader {
  readonly text: string
  at: number
  count: number
  fault: GeometryFault | undefined
}

/** The tag may be followed by Z, with or without a space; what follows that is `(` or EMPTY. */
function readGeometry(reader: Reader, depth: number): Geometry | undefined {
  const tag = /\s*([A-Z]+?)(?:Z|\s+Z)?(?=\s*(?:\(|EMPTY\b))/iy
  tag.lastIndex = reader.at
  const match = tag.exec(reader.text)
  const type = TYPES[match?.[1]?.toUpperCase() ?? '']
  if (match === null || type === undefined) return fail(reader, `one of ${Object.keys(TYPES).join(', ')}`)
  if (depth > GEOMETRY_LIMITS.maxDepth)
    return fail(reader, `at most ${GEOMETRY_LIMITS.maxDepth} nested collections`)
  reader.at = tag.lastIndex
  const isEmpty = takeEmpty(reader)
  if (type === 'GeometryCollection') {
    const geometries = isEmpty ? [] : readList(reader, () => readGeometry(reader, depth + 1))
    return { type, geometries: geometries as Geometry[] }
  }
  if (isEmpty) return type === 'Point' ? fail(reader, 'a point with coordinates') : { type, coordinates: [] }
  return { type, coordinates: readCoordinates(reader, type) } as Geometry
}

/** As many levels of brackets as GeoJSON has of arrays, save for the point, whose position stands in brackets. */
function readCoordinates(reader: Reader, type: Geometry['type']): unknown {
  switch (type) {
    case 'Point':
      return readList(reader, () => readPosition(reader), 1)[0]
    case 'MultiPoint':
      return readList(reader, () => readBracketedPosition(reader))
    case 'LineString':
      return readList(reader, () => readPosition(reader))
    case 'MultiPolygon':
      return readList(reader, () => readList(reader, () => readList(reader, () => readPosition(reader))))
    default:
      return readList(reader, () => readList(reader, () => readPosition(reader)))
  }
}

/** `( item, item … )` or `EMPTY`, which rings and members may be too. */
function readList<T>(reader: Reader, read: () => T | undefined, most = Infinity): T[] {
  const items: T[] = []
  if (takeEmpty(reader)) return items
  if (!take(reader, '(')) {
    fail(reader, '"("')
    return items
  }
  do {
    if (reader.count++ > GEOMETRY_LIMITS.maxPositions)
      fail(reader, `at most ${GEOMETRY_LIMITS.maxPositions} positions`)
    const item = reader.fault === undefined ? read() : undefined
    if (item === undefined || reader.fault !== undefined) return items
    items.push(item)
  } while (items.length < most && take(reader, ','))
  if (!take(reader, ')')) fail(reader, items.length < most ? '"," or ")"' : '")"')
  return items
}

/** `MULTIPOINT ((1 2), (3 4))` is the standard, `MULTIPOINT (1 2, 3 4)` what older programs write. */
function readBracketedPosition(reader: Reader): Position | undefined {
  if (!take(reader, '(')) return readPosition(reader)
  const position = readPosition(reader)
  if (!take(reader, ')')) fail(reader, '")"')
  return position
}

/** Numbers up to the next comma or bracket. A sticky expression reads in place: no part of the text is copied. */
function readPosition(reader: Reader): Position | undefined {
  const form = /\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?=[\s,)])/iy
  const numbers: number[] = []
  form.lastIndex = reader.at
  for (let match = form.exec(reader.text); match !== null; match = form.exec(reader.text)) {
    numbers.push(Number(match[1]))
    reader.at = form.lastIndex
  }
  if (numbers.length !== 2 && numbers.length !== 3) return fail(reader, 'a position of 2 or 3 numbers')
  // 1e400 has the form of a number and is none
  if (!numbers.every(Number.isFinite)) return fail(reader, 'numbers within the range of a double')
  return numbers as Position
}

function take(reader: Reader, char: string): boolean {
  skipSpace(reader)
  if (reader.text[reader.at] !== char) return false
  reader.at++
  return true
}

function takeEmpty(reader: Reader): boolean {
  const form = /\s*EMPTY\b/iy
  form.lastIndex = reader.at
  if (!form.test(reader.text)) return false
  reader.at = form.lastIndex
  return true
}

function skipSpace(reader: Reader): void {
  while (/\s/.test(reader.text[reader.at] ?? '')) reader.at++
}

function fail(reader: Reader, expected: string): undefined {
  const rest = reader.text.slice(reader.at, reader.at + 24)
  reader.fault ??= {
    path: `WKT character ${reader.at}`,
    found: rest === '' ? 'the end' : JSON.stringify(rest),
    expected,
  }
}
