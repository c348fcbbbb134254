import { formatDatetime, isInfinite, MAX_US, MIN_US, withoutOffset } from '../../datetime.js'
import type { Stored } from '../columns/column-type.js'
import type { StateColumn } from '../columns/state-column.js'

/*
 * Canonical text of a cited state, version 1. It is frozen: a checksum must be the same in ten years, so every change needs a
 * new version beside this one.
 *
 * UTF-8 text of lines, each ended by a line feed. The first line is the JSON array
 *
 *     ["fieldgate-citation-1",["<column>","<type>"],…]
 *
 * with the columns in order and their types as `get_columns` prints them. Every following line is one row, in the order of
 * arrival, as a JSON array of one value per column, without spaces:
 *
 *     null                      null
 *     boolean                   true or false
 *     smallint, integer, bigint the decimal digits
 *     real, double precision    the shortest decimal that is this double, as ECMAScript prints it (7.1.12.1 of ES5), zero
 *                               without sign; "NaN", "Infinity", "-Infinity"
 *     timestamp with time zone  "2025-01-02T03:04:05.678901Z", UTC
 *     timestamp                 "2025-01-02T03:04:05.678901"; of both types "infinity", "-infinity" (0.1.0
 *                               stored neither, so no older checksum changes)
 *     geometry, bytes           "…" lower-case hex; geometry is ISO WKB, little endian
 *     all other types           "…" the text as stored: date, time, numeric, text, JSON; the SHA-256 of a file
 *     encrypted columns         "…" lower-case hex of the encrypted bytes
 *
 * Strings are escaped as by ECMAScript's JSON.stringify. The checksum is the SHA-256 of the whole text.
 */

/** Returns the first line. */
export function canonicalHead(columns: readonly StateColumn[]): string {
  const pairs = columns.map(({ name, typeText }) => [name, typeText])
  return `${JSON.stringify(['fieldgate-citation-1', ...pairs])}\n`
}

/** Returns the line of a row. @param values one per column */
export function canonicalLine(columns: readonly StateColumn[], values: readonly Stored[]): string {
  let line = '['
  for (let at = 0; at < columns.length; at++) {
    if (at > 0) line += ','
    line += canonicalValue(columns[at] as StateColumn, values[at] as Stored)
  }
  return `${line}]\n`
}

function canonicalValue(column: StateColumn, stored: Stored): string {
  if (stored === null) return 'null'
  if (stored instanceof Uint8Array) return `"${hexOf(stored)}"`
  if (typeof stored === 'string') return JSON.stringify(stored)
  switch (column.udtName) {
    case 'bool':
      return Number(stored) === 1 ? 'true' : 'false'
    case 'float4':
    case 'float8':
      return floatText(Number(stored))
    case 'timestamptz':
      return isInfinite(BigInt(stored)) ? `"${utcText(stored)}"` : `"${utcText(stored)}Z"`
    case 'timestamp':
      return `"${utcText(stored)}"`
    default:
      return String(stored)
  }
}

function floatText(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"` // String(-0) is 0
}

function utcText(us: number | bigint): string {
  const instant = BigInt(us)
  if ((instant < MIN_US || instant > MAX_US) && !isInfinite(instant))
    throw new Error(`found the stored time ${us} µs, which is out of range`)
  return withoutOffset(formatDatetime(instant, 0))
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}
