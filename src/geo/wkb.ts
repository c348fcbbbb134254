import { hasHeight } from './coordinates.js'
import type { GeometryFault } from './fault.js'
import { GEOMETRY_LIMITS } from './limits.js'
import type { Geometry, Position } from './types.js'

const TYPE_NAMES = [
  undefined,
  'Point',
  'LineString',
  'Polygon',
  'MultiPoint',
  'MultiLineString',
  'MultiPolygon',
  'GeometryCollection',
] as const
/** ISO adds 1000 to the type for heights (2000 for measures, 3000 for both); EWKB sets bits instead. */
const ISO_Z = 1000
const EWKB_Z = 0x80000000
const EWKB_M = 0x40000000
const EWKB_SRID = 0x20000000

/**
 * Writes ISO WKB, little endian. When any position has a height the whole geometry is written with Z, and a
 * position without one gets NaN (GEOS reads it as "no height"), so reading restores what was written. An empty
 * point has NaN for each coordinate, as in PostGIS.
 *
 * @param allocate returns the bytes to fill, for instance a part of a larger buffer when many geometries are
 *   written
 * @see OGC 06-103r4, "Simple feature access - Part 1", section 8
 */
export function encodeWkb(
  geometry: Geometry,
  allocate: (size: number) => Uint8Array = (size) => new Uint8Array(size),
): Uint8Array {
  const hasZ = hasAnyHeight(geometry)
  const bytes = allocate(sizeOf(geometry, hasZ ? 24 : 16))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  write({ view, at: 0, hasZ }, geometry)
  return bytes
}

/**
 * Reads ISO WKB or EWKB (an SRID is skipped) in either byte order. Measures (M) are refused, because
 * `Geometry` has none. Only the form is checked; `parseGeometry` checks ranges and rings.
 *
 * @returns the geometry, or the first fault; never throws
 */
export function decodeWkb(bytes: Uint8Array): Geometry | GeometryFault {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const reader: Reader = { view, at: 0, isLittle: true, size: 16, count: 0, fault: undefined }
  const geometry = readGeometry(reader, 0, undefined)
  if (reader.fault === undefined && reader.at !== bytes.length)
    fail(reader, `${bytes.length - reader.at} bytes more`, 'the end of the geometry')
  return reader.fault ?? (geometry as Geometry) // without a fault there is a geometry
}

/** Writes upper-case hex WKB, as PostGIS prints it. */
export function encodeHexWkb(geometry: Geometry): string {
  let text = ''
  for (const byte of encodeWkb(geometry)) text += byte.toString(16).padStart(2, '0')
  return text.toUpperCase()
}

/**
 * Reads hex WKB or EWKB in either case, with or without a leading `\x`.
 *
 * @returns the geometry, or the first fault
 */
export function decodeHexWkb(text: string): Geometry | GeometryFault {
  const hex = text.startsWith('\\x') ? text.slice(2) : text
  if (hex.length % 2 !== 0 || !/^[0-9a-f]+$/i.test(hex))
    return {
      path: 'hex WKB',
      found: JSON.stringify(text.slice(0, 40)),
      expected: 'an even number of hex digits',
    }
  const bytes = new Uint8Array(hex.length / 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16)
  return decodeWkb(bytes)
}

function hasAnyHeight(geometry: Geometry): boolean {
  if (geometry.type === 'GeometryCollection') return geometry.geometries.some(hasAnyHeight)
  return hasHeight(geometry.coordinates)
}

/** Returns the bytes that a geometry takes. @param positionSize 16, or 24 with height */
function sizeOf(geometry: Geometry, positionSize: number): number {
  // 5 = byte order and type; 9 = these and a count; a ring has a count alone
  switch (geometry.type) {
    case 'Point':
      return 5 + positionSize
    case 'LineString':
      return 9 + geometry.coordinates.length * positionSize
    case 'Polygon':
      return geometry.coordinates.reduce((sum, ring) => sum + 4 + ring.length * positionSize, 9)
    default:
      return partsOf(geometry).reduce((sum, part) => sum + sizeOf(part, positionSize), 9)
  }
}

/** Returns the members of a collection or of a multi-geometry. */
function partsOf(geometry: Geometry): Geometry[] {
  switch (geometry.type) {
    case 'MultiPoint':
      return geometry.coordinates.map((coordinates) => ({ type: 'Point', coordinates }))
    case 'MultiLineString':
      return geometry.coordinates.map((coordinates) => ({ type: 'LineString', coordinates }))
    case 'MultiPolygon':
      return geometry.coordinates.map((coordinates) => ({ type: 'Polygon', coordinates }))
    case 'GeometryCollection':
      return geometry.geometries
    default:
      return []
  }
}

/** Target of the bytes of one geometry. */
interface Writer {
  readonly view: DataView
  /** offset of the next byte */
  at: number
  /** positions have heights */
  readonly hasZ: boolean
}

/** Writes a geometry at `out.at` and advances it. `encodeWkb` has reserved the bytes. */
function write(out: Writer, geometry: Geometry): void {
  out.view.setUint8(out.at, 1) // little endian
  writeCount(out, TYPE_NAMES.indexOf(geometry.type) + (out.hasZ ? ISO_Z : 0), 1)
  if (geometry.type === 'Point') {
    writePosition(out, geometry.coordinates)
  } else if (geometry.type === 'LineString') {
    writeChain(out, geometry.coordinates)
  } else if (geometry.type === 'Polygon') {
    writeCount(out, geometry.coordinates.length)
    for (const ring of geometry.coordinates) writeChain(out, ring)
  } else {
    // members repeat byte order and type, as the standard asks
    const parts = partsOf(geometry)
    writeCount(out, parts.length)
    for (const part of parts) write(out, part)
  }
}

/** Writes a count or a type. @param skip bytes before it that are written already: the byte order mark */
function writeCount(out: Writer, count: number, skip = 0): void {
  out.view.setUint32(out.at + skip, count, true)
  out.at += 4 + skip
}

/** Writes the positions of a line or ring, after their number. */
function writeChain(out: Writer, positions: readonly Position[]): void {
  writeCount(out, positions.length)
  for (const position of positions) writePosition(out, position)
}

/**
 * Writes a position; without a height it gets NaN in a geometry that has heights. Zero is written without a
 * sign, so that equal positions have equal bytes: GeoJSON would lose the sign.
 */
function writePosition(out: Writer, [x, y, z]: Position): void {
  out.view.setFloat64(out.at, x + 0, true)
  out.view.setFloat64(out.at + 8, y + 0, true)
  if (out.hasZ) out.view.setFloat64(out.at + 16, (z ?? Number.NaN) + 0, true)
  out.at += out.hasZ ? 24 : 16
}

/** Source of the bytes. Byte order and position size are those of the geometry being read. */
interface Reader {
  readonly view: DataView
  /** offset of the next byte */
  at: number
  isLittle: boolean
  /** bytes of a position: 16, or 24 with height */
  size: number
  /** positions, rings and members announced */
  count: number
  fault: GeometryFault | undefined
}

/** Reads one geometry. @param only type that a member of a multi-geometry must have; undefined = any */
function readGeometry(reader: Reader, depth: number, only: string | undefined): Geometry | undefined {
  const type = readHead(reader)
  if (type === undefined) return undefined
  if (only !== undefined && type !== only) return fail(reader, type, `a member of type ${only}`)
  if (depth > GEOMETRY_LIMITS.maxDepth)
    return fail(reader, 'a deeper collection', `at most ${GEOMETRY_LIMITS.maxDepth} nested collections`)
  switch (type) {
    case 'Point':
      return readPoint(reader)
    case 'LineString':
      return { type, coordinates: readChain(reader) }
    case 'Polygon':
      // least sizes: a ring is at least its count, 4 bytes; a member at least a head and a count, 9 bytes
      return { type, coordinates: readList(reader, 4, () => readChain(reader)) }
    case 'GeometryCollection':
      return { type, geometries: readList(reader, 9, () => readGeometry(reader, depth + 1, undefined)) }
    default: {
      // MultiPoint → Point and so on
      const member = type.slice('Multi'.length)
      const read = () => readGeometry(reader, depth + 1, member)
      // members have the type `only`, so they have coordinates, nested as deep as the type asks
      const parts = readList(reader, 9, read) as { coordinates: unknown }[]
      return { type, coordinates: parts.map((part) => part.coordinates) } as Geometry
    }
  }
}

/** Reads a point, whose size no count has checked. One without numbers is empty. */
function readPoint(reader: Reader): Geometry | undefined {
  if (!has(reader, reader.size)) return undefined
  const position = readPosition(reader)
  const isEmpty = Number.isNaN(position[0]) && Number.isNaN(position[1])
  return { type: 'Point', coordinates: isEmpty ? ([] as unknown as Position) : position }
}

/** Reads byte order, type and SRID. */
function readHead(reader: Reader): Geometry['type'] | undefined {
  if (!has(reader, 5)) return undefined
  const order = reader.view.getUint8(reader.at)
  if (order > 1) return fail(reader, `byte order ${order}`, '0 (big endian) or 1 (little endian)')
  reader.isLittle = order === 1
  const code = reader.view.getUint32(reader.at + 1, reader.isLittle)
  reader.at += 5
  // without the flags of EWKB
  const plain = code & 0x0fffffff
  // ISO: 0 = x and y, 1 = Z, 2 = M, 3 = both
  const kind = Math.floor(plain / ISO_Z)
  if ((code & EWKB_M) !== 0 || kind === 2 || kind === 3)
    return fail(reader, `type ${code} with measures`, 'a geometry without M')
  const name = TYPE_NAMES[plain % ISO_Z]
  if (kind > 1 || name === undefined)
    return fail(reader, `type ${code}`, 'type 1 to 7, or 1001 to 1007 with Z')
  reader.size = (code & EWKB_Z) !== 0 || kind === 1 ? 24 : 16
  if ((code & EWKB_SRID) !== 0 && has(reader, 4)) reader.at += 4
  return name
}

/** Reads the positions of a line or ring. */
function readChain(reader: Reader): Position[] {
  const count = readCount(reader, reader.size)
  const positions: Position[] = []
  for (let index = 0; index < count; index++) positions.push(readPosition(reader))
  return positions
}

/**
 * Reads the rings of a polygon, or the members of a multi-geometry or collection.
 *
 * @param leastSize bytes of the smallest possible item
 */
function readList<T>(reader: Reader, leastSize: number, read: () => T | undefined): T[] {
  const count = readCount(reader, leastSize)
  // members overwrite both, so they are restored after each
  const { isLittle, size } = reader
  const items: T[] = []
  for (let index = 0; index < count && reader.fault === undefined; index++) {
    const item = read()
    if (item === undefined || reader.fault !== undefined) break
    items.push(item)
    reader.isLittle = isLittle // a member may have its own byte order
    reader.size = size
  }
  return items
}

/** Reads a count. It is accepted only when the bytes left can hold that many items of the least size. */
function readCount(reader: Reader, leastSize: number): number {
  if (!has(reader, 4)) return 0
  const count = reader.view.getUint32(reader.at, reader.isLittle)
  reader.at += 4
  // summed over the whole geometry and checked before anything is allocated
  reader.count += count
  if (reader.count > GEOMETRY_LIMITS.maxPositions) {
    fail(reader, `${reader.count} positions`, `at most ${GEOMETRY_LIMITS.maxPositions}`)
    return 0
  }
  return has(reader, count * leastSize) ? count : 0
}

/** Reads a position whose bytes `readCount` or `readPoint` has checked. A height of NaN means none. */
function readPosition(reader: Reader): Position {
  const { view, at, isLittle, size } = reader
  reader.at += size
  const x = view.getFloat64(at, isLittle)
  const y = view.getFloat64(at + 8, isLittle)
  if (size === 16) return [x, y]
  const z = view.getFloat64(at + 16, isLittle)
  return Number.isNaN(z) ? [x, y] : [x, y, z]
}

/** Checks that bytes are left before they are read, because a DataView throws. */
function has(reader: Reader, size: number): boolean {
  const left = reader.view.byteLength - reader.at
  if (left >= size) return true
  fail(reader, `${left} bytes`, `${size} more bytes`)
  return false
}

/** Records a fault, unless there is one already, from which this one may follow. */
function fail(reader: Reader, found: string, expected: string): undefined {
  reader.fault ??= { path: `WKB byte ${reader.at}`, found, expected }
}
