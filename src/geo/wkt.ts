import { type Coordinates, hasHeight, isPosition } from './coordinates.js'
import type { GeometryFault } from './fault.js'
import { GEOMETRY_LIMITS } from './limits.js'
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

/**
 * Writes WKT, with heights as `POINT Z (1 2 3)`. A position without a height is written without one, also
 * among others that have one.
 */
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
 * Parses WKT or EWKT (`SRID=4326;POINT(1 2)`; the SRID is skipped), in any case, with `POINT Z` or `POINTZ`,
 * and both spellings of a multipoint. Measures (M) are refused. Only the form is checked; `parseGeometry`
 * checks ranges and rings.
 *
 * @returns the geometry, or the first fault
 * @see OGC 06-103r4, "Simple feature access - Part 1", section 7
 */
export function decodeWkt(text: string): Geometry | GeometryFault {
  const reader: Reader = { text, at: 0, count: 0, fault: undefined }
  const srid = /^\s*SRID\s*=\s*\d{1,6}\s*;/i.exec(text)
  if (srid !== null) reader.at = srid[0].length
  const geometry = readGeometry(reader, 0)
  skipSpace(reader)
  if (reader.fault === undefined && reader.at < text.length) fail(reader, 'the end of the text')
  return reader.fault ?? (geometry as Geometry) // without a fault there is a geometry
}

/** Brackets for each level of nesting; numbers in the shortest form that parses to the same double. */
function nestedText(coordinates: Coordinates): string {
  if (coordinates.length === 0) return 'EMPTY'
  if (isPosition(coordinates)) return coordinates.join(' ')
  return `(${coordinates.map(nestedText).join(', ')})`
}

/** Text and position of the parser. */
interface Reader {
  readonly text: string
  /** next character */
  at: number
  /** positions, rings and members read */
  count: number
  fault: GeometryFault | undefined
}

/** Reads a tag, Z with or without a space, and then brackets or EMPTY. */
function readGeometry(reader: Reader, depth: number): Geometry | undefined {
  // lazy, so that the Z of POINTZ is not part of the tag; the bracket itself is left to `readList`
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
    return { type, geometries: isEmpty ? [] : readList(reader, () => readGeometry(reader, depth + 1)) }
  }
  if (isEmpty) return { type, coordinates: [] } as unknown as Geometry // a point is empty, too
  return { type, coordinates: readCoordinates(reader, type) } as Geometry // nested as deep as the type asks
}

/**
 * Reads as many levels of brackets as GeoJSON has arrays; a point has one level more, around its position.
 */
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

/** Reads `( item, item … )` or `EMPTY`, which may also be a ring or a member. */
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
    // read after the count: nested empty lists are limited as well
    const item = reader.fault === undefined ? read() : undefined
    if (item === undefined || reader.fault !== undefined) return items
    items.push(item)
  } while (items.length < most && take(reader, ','))
  if (!take(reader, ')')) fail(reader, items.length < most ? '"," or ")"' : '")"')
  return items
}

/**
 * Reads a point of `MULTIPOINT ((1 2), (3 4))`, the standard, or `MULTIPOINT (1 2, 3 4)`, the form of older
 * programs.
 */
function readBracketedPosition(reader: Reader): Position | undefined {
  if (!take(reader, '(')) return readPosition(reader)
  const position = readPosition(reader)
  if (!take(reader, ')')) fail(reader, '")"')
  return position
}

/**
 * Reads numbers up to the next comma or bracket, with a sticky expression: it works in place and copies no
 * text.
 */
function readPosition(reader: Reader): Position | undefined {
  // a number ends at a space, comma or bracket, so that 1.2.3 and 1-2 are refused
  const form = /\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?=[\s,)])/iy
  const numbers: number[] = []
  form.lastIndex = reader.at
  for (let match = form.exec(reader.text); match !== null; match = form.exec(reader.text)) {
    numbers.push(Number(match[1]))
    reader.at = form.lastIndex
  }
  if (numbers.length !== 2 && numbers.length !== 3) return fail(reader, 'a position of 2 or 3 numbers')
  // 1e400 has the form of a number but overflows
  if (!numbers.every(Number.isFinite)) return fail(reader, 'numbers within the range of a double')
  return numbers as Position // two or three
}

/** Skips a character when it is next; false when it is not. */
function take(reader: Reader, char: string): boolean {
  skipSpace(reader)
  if (reader.text[reader.at] !== char) return false
  reader.at++
  return true
}

/** Skips `EMPTY` when it is next; false when it is not. */
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

/** Records a fault at the current position, unless there is one already. */
function fail(reader: Reader, expected: string): undefined {
  const rest = reader.text.slice(reader.at, reader.at + 24)
  reader.fault ??= {
    path: `WKT character ${reader.at}`,
    found: rest === '' ? 'the end' : JSON.stringify(rest),
    expected,
  }
}
