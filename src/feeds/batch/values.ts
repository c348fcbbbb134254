import { isFault as isGeometryFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import { encodeWkb } from '../../geo/wkb.js'
import type { Stored, ValueEnv, ValueFault } from '../../storage/columns/column-type.js'
import { typeOf } from '../../storage/columns/column-types.js'
import type { Column } from '../../storage/tables.js'

/** Times travel in UTC; `now()` is no value of a stored row. */
const ENV: ValueEnv = { timeZoneMin: 0, nowUs: 0n }

/** Size of the WKB of a point without a height, and its first bytes: little endian, type 1. */
const POINT_BYTES = 21
const POINT_HEAD = [1, 1, 0, 0, 0]

/**
 * Returns what makes the JSON values that carry the stored values of a column. Text goes as it is stored; bytes are
 * base64; a point is `"<longitude> <latitude>"`, any other geometry the hex of its WKB.
 */
export function senderOf({ udtName }: Column): (stored: Stored) => unknown {
  if (udtName === 'geometry') return (stored) => (stored === null ? null : sentGeometry(stored as Uint8Array))
  const type = typeOf(udtName)
  if (type.kind === 'text') return (stored) => stored
  return (stored) => (stored === null ? null : type.print(stored, ENV))
}

/**
 * Returns what reads the JSON values of a column that another node sent, checked as those of a record are. They may be
 * anything.
 */
export function receiverOf(column: Column): (json: unknown) => Stored | ValueFault {
  const type = typeOf(column.udtName)
  const srid = column.srid ?? undefined
  const isGeometry = column.udtName === 'geometry'
  return (json) => {
    if (json === null) return column.isNullable ? null : { found: 'null', expected: 'a value' }
    if (isGeometry && typeof json === 'string' && POINT.test(json)) return readPoint(json, srid)
    return type.read(json, column, ENV)
  }
}

/** Form of the text of a point. */
const POINT = /^\S+ \S+$/

function sentGeometry(wkb: Uint8Array): string {
  const view = Buffer.from(wkb.buffer, wkb.byteOffset, wkb.byteLength)
  const isPoint = wkb.byteLength === POINT_BYTES && POINT_HEAD.every((byte, at) => wkb[at] === byte)
  if (!isPoint) return view.toString('hex')
  const [lng, lat] = [view.readDoubleLE(5), view.readDoubleLE(13)]
  return Number.isFinite(lng) && Number.isFinite(lat)
    ? `${numberText(lng)} ${numberText(lat)}`
    : view.toString('hex')
}

/** Shortest text that is read as the same double. */
function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function readPoint(text: string, srid: number | undefined): Stored | ValueFault {
  const coordinates = text.split(' ').map(Number)
  const geometry = parseGeometry({ type: 'Point', coordinates }, '', srid)
  if (isGeometryFault(geometry)) return { found: geometry.found, expected: geometry.expected }
  return encodeWkb(geometry, Buffer.allocUnsafe)
}
