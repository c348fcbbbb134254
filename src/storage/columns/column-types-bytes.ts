import { describeValue, type GeometryFault, isFault as isGeometryFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import type { Geometry } from '../../geo/types.js'
import { decodeHexWkb, decodeWkb, encodeHexWkb, encodeWkb } from '../../geo/wkb.js'
import { decodeWkt } from '../../geo/wkt.js'
import { type ColumnType, quoteDefault, type Stored, type ValueFault } from './column-type.js'

/** Bytes, and what is kept as bytes. On the wire they are base64 with padding and without line breaks. */
export const BYTES_TYPES = {
  bytea: bytesType('bytea', 'bytes', 'bytes'),
  raster: bytesType('USER-DEFINED', 'bytes of a raster', null),
  file: fileType(),
  geometry: geometryType(),
}

/** Strict base64: what decodes and encodes back to the same text. */
export function readBase64(json: unknown): Buffer | ValueFault {
  const expected = 'base64 with padding'
  if (typeof json !== 'string') return { found: describeValue(json), expected: `a string of ${expected}` }
  if (json.length % 4 !== 0)
    return { found: `${json.length} characters`, expected: `${expected} (groups of 4)` }
  const bytes = Buffer.from(json, 'base64')
  return bytes.toString('base64') === json ? bytes : { found: describeValue(json), expected }
}

/** `raster` is bytes that nobody looks into. */
function bytesType(dataType: string, form: string, lengthUnit: 'bytes' | null): ColumnType {
  return {
    dataType,
    sqlType: 'BLOB',
    form,
    lengthUnit,
    sortKey: dataType === 'bytea' ? (sql) => sql : null,
    read: (json, { length }) => withinLength(readBase64(json), length),
    operand: (json) => readBase64(json),
    print: (stored) => Buffer.from(stored as Uint8Array).toString('base64'),
    renderDefault: (_given, stored) =>
      quoteDefault(`\\x${Buffer.from(stored as Uint8Array).toString('hex')}`, dataType),
  }
}

/**
 * A file: the record carries its bytes, the column keeps their SHA-256, the bytes themselves lie in the blob store.
 * `read` gives the bytes; who stores the record turns them into the digest. Reading back is the table reader's work.
 */
function fileType(): ColumnType {
  return {
    dataType: 'USER-DEFINED',
    sqlType: 'TEXT',
    form: "SHA-256 of the file's bytes",
    lengthUnit: 'bytes',
    sortKey: null,
    read: (json, { length }) => withinLength(readBase64(json), length),
    operand: () => ({ found: 'a file column', expected: 'a column that can be compared' }),
    print: (stored) => stored,
    renderDefault: (given) => quoteDefault(given, 'file'),
  }
}

/** GeoJSON, or a string of WKT, EWKT or hex (E)WKB; kept as ISO WKB, heights included. */
function geometryType(): ColumnType {
  return {
    dataType: 'USER-DEFINED',
    sqlType: 'BLOB',
    form: 'geometry as little-endian WKB',
    lengthUnit: null,
    sortKey: null,
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

/** The geometry of a stored value. @throws Error when the bytes are damaged */
export function decodeStored(wkb: Uint8Array): Geometry {
  const geometry = decodeWkb(wkb)
  if (isGeometryFault(geometry))
    throw new Error(`a stored geometry is damaged: ${geometry.found} at ${geometry.path}`)
  return geometry
}

/**
 * A geometry in any of the forms that records may carry. A reference system that EWKT or EWKB states must be the one
 * expected: nothing is reprojected here, and metres read as degrees would be a place on Earth, but not the one meant.
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

const DEFAULT_SRID = 4326
/** PostGIS's word for "any". */
const UNKNOWN_SRID = 0
const EWKB_HAS_SRID = 0x20000000

/** The SRID at the beginning of EWKT or hex EWKB; undefined where none is stated. */
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
    return JSON.parse(text) as Geometry // its form is checked by who asked
  } catch {
    return { path: '', found: describeValue(text), expected: 'GeoJSON, WKT or hex WKB' }
  }
}

/** Faults of a column tell the column; the place within the geometry follows the finding. */
function toValueFault({ path, found, expected }: GeometryFault): ValueFault {
  return { found: path === '' ? found : `${found} at ${path.replace(/^\./, '')}`, expected }
}

function withinLength(bytes: Buffer | ValueFault, length: number | null): Stored | ValueFault {
  if (length === null || !Buffer.isBuffer(bytes) || bytes.length <= length) return bytes
  return { found: `${bytes.length} bytes`, expected: `at most ${length}` }
}
