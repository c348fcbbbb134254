import { type GeometryFault, isFault as isGeometryFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import { reproject } from '../../geo/reproject.js'
import type { Geometry } from '../../geo/types.js'
import { decodeHexWkb, decodeWkb, encodeHexWkb, encodeWkb } from '../../geo/wkb.js'
import { decodeWkt } from '../../geo/wkt.js'
import { describeFound } from '../../messages/fault-text.js'
import { type ColumnType, quoteDefault, type Stored, type ValueFault } from './column-type.js'

/** Types stored as bytes, and files. Bytes are base64 on the wire, with padding and without line breaks. */
export const BYTES_TYPES = {
  bytea: bytesType('bytea', 'bytes', 'bytes'),
  raster: bytesType('USER-DEFINED', 'bytes of a raster', null),
  file: fileType(),
  geometry: geometryType(),
}

/** Decodes strict base64: text that encodes back to itself. */
function readBase64(json: unknown): Buffer | ValueFault {
  const expected = 'base64 with padding'
  if (typeof json !== 'string') return { found: describeFound(json), expected: `a string of ${expected}` }
  if (json.length % 4 !== 0)
    return { found: `${json.length} characters`, expected: `${expected} (groups of 4)` }
  const bytes = Buffer.from(json, 'base64')
  return bytes.toString('base64') === json ? bytes : { found: describeFound(json), expected }
}

/** @param lengthUnit null for `raster`, whose bytes are opaque and have no order */
function bytesType(dataType: string, form: string, lengthUnit: 'bytes' | null): ColumnType {
  return {
    dataType,
    kind: 'bytes',
    form,
    lengthUnit,
    order: lengthUnit === null ? null : 'stored',
    read: (json, { length }) => withinLength(readBase64(json), length),
    operand: (json) => readBase64(json),
    print: (stored) => Buffer.from(stored as Uint8Array).toString('base64'),
    renderDefault: (_given, stored) =>
      quoteDefault(`\\x${Buffer.from(stored as Uint8Array).toString('hex')}`, dataType),
  }
}

/**
 * The type of files. A record carries the bytes, the column stores their SHA-256, and the blob store holds
 * the bytes. `read` returns the bytes; the writer replaces them by the digest, and the reader does the
 * reverse.
 */
function fileType(): ColumnType {
  return {
    dataType: 'USER-DEFINED',
    kind: 'text',
    form: "SHA-256 of the file's bytes",
    lengthUnit: 'bytes',
    order: null,
    read: (json, { length }) => withinLength(readBase64(json), length),
    operand: () => ({ found: 'a file column', expected: 'a column that can be compared' }),
    print: (stored) => stored,
    renderDefault: (given) => quoteDefault(given, 'file'),
  }
}

/** The type of geometries: GeoJSON, WKT, EWKT or hex (E)WKB, stored as ISO WKB with heights. */
function geometryType(): ColumnType {
  return {
    dataType: 'USER-DEFINED',
    kind: 'bytes',
    form: 'geometry as little-endian WKB',
    lengthUnit: null,
    order: null,
    read(json, { srid }) {
      const geometry = readGeometry(json, srid ?? undefined)
      return isGeometryFault(geometry) ? toValueFault(geometry) : encodeWkb(geometry, Buffer.allocUnsafe)
    },
    operand: () => ({ found: 'a geometry column', expected: 'the operators intersects, within or is_null' }),
    print: (stored) => decodeStored(stored as Uint8Array),
    renderDefault: (_given, stored) =>
      quoteDefault(encodeHexWkb(decodeStored(stored as Uint8Array)), 'geometry'),
  }
}

/** Decodes a stored geometry. @throws Error when the bytes are damaged */
export function decodeStored(wkb: Uint8Array): Geometry {
  const geometry = decodeWkb(wkb)
  if (isGeometryFault(geometry))
    throw new Error(`a stored geometry is damaged: ${geometry.found} at ${geometry.path}`)
  return geometry
}

/**
 * Reads a geometry in any of the forms that records may carry. A reference system that EWKT or EWKB states
 * must be the expected one: nothing is reprojected, and metres read as degrees would be a wrong location.
 *
 * @param srid expected reference system; undefined for WGS 84
 */
export function readGeometry(json: unknown, srid: number | undefined): Geometry | GeometryFault {
  if (typeof json !== 'string') return parseGeometry(json, '', srid)
  const text = json.trim()
  const stated = statedSrid(text)
  const wanted = srid ?? DEFAULT_SRID
  if (stated !== undefined && stated !== UNKNOWN_SRID && wanted !== UNKNOWN_SRID && stated !== wanted)
    return { path: '', found: `SRID ${stated}`, expected: `SRID ${wanted}, or none` }
  const decoded = text.startsWith('{')
    ? parseJson(text)
    : /^(?:\\x)?[0-9a-f]+$/i.test(text)
      ? decodeHexWkb(text)
      : decodeWkt(text)
  return isGeometryFault(decoded) ? decoded : parseGeometry(decoded, '', srid)
}

/**
 * Reads a geometry to compare with those of a column. It is in WGS 84, unless EWKT or EWKB states another
 * system, and is converted to the column's. A column without a system (SRID 0) is compared as it is.
 *
 * @param srid reference system of the column
 */
export function readGeometryFor(json: unknown, srid: number): Geometry | GeometryFault {
  const stated = typeof json === 'string' ? statedSrid(json.trim()) : undefined
  const system = stated === undefined || stated === UNKNOWN_SRID ? DEFAULT_SRID : stated
  const given = srid === UNKNOWN_SRID ? UNKNOWN_SRID : system
  const geometry = readGeometry(json, given)
  if (isGeometryFault(geometry)) return geometry
  return reproject(geometry, given, srid) ?? notConvertible(given, srid)
}

function notConvertible(given: number, srid: number): GeometryFault {
  return {
    path: '',
    found: `a geometry in EPSG:${given} for a column in EPSG:${srid}, which the gateway cannot convert`,
    expected: `EWKT in the system of the column, like "SRID=${srid};POINT(1 2)"`,
  }
}

const DEFAULT_SRID = 4326
/** any reference system, in PostGIS */
const UNKNOWN_SRID = 0
const EWKB_HAS_SRID = 0x20000000

/** Returns the SRID that EWKT or hex EWKB states; undefined when it states none. */
function statedSrid(text: string): number | undefined {
  const inText = /^SRID\s*=\s*(\d{1,6})\s*;/i.exec(text)?.[1]
  if (inText !== undefined) return Number(inText)
  if (!/^(?:\\x)?0[01][0-9a-f]{16}/i.test(text)) return undefined
  const head = Buffer.from(text.replace(/^\\x/i, '').slice(0, 18), 'hex')
  const isLittle = head[0] === 1
  const code = isLittle ? head.readUInt32LE(1) : head.readUInt32BE(1)
  if ((code & EWKB_HAS_SRID) === 0) return undefined
  return isLittle ? head.readUInt32LE(5) : head.readUInt32BE(5)
}

function parseJson(text: string): Geometry | GeometryFault {
  try {
    return JSON.parse(text) as Geometry // `parseGeometry` checks it next
  } catch {
    return { path: '', found: describeFound(text), expected: 'GeoJSON, WKT or hex WKB' }
  }
}

/** The position within the geometry becomes part of the finding: faults of a column have no path. */
function toValueFault({ path, found, expected }: GeometryFault): ValueFault {
  return { found: path === '' ? found : `${found} at ${path.replace(/^\./, '')}`, expected }
}

function withinLength(bytes: Buffer | ValueFault, length: number | null): Stored | ValueFault {
  if (length === null || !Buffer.isBuffer(bytes) || bytes.length <= length) return bytes
  return { found: `${bytes.length} bytes`, expected: `at most ${length}` }
}
