import type { Stored } from '../../columns/column-type.js'
import type { SqlType } from './ddl.js'

/** Returns the text of an array of PostgreSQL with one value of a column for each row. */
export function arrayText(type: SqlType, values: readonly (Stored | undefined)[]): string {
  let text = ''
  for (const value of values) text += `,${elementText(type, value)}`
  return `{${text.slice(1)}}`
}

function elementText(type: SqlType, value: Stored | undefined): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'string') return type === 'double precision' ? value : quoted(value) // NaN is text
  if (value instanceof Uint8Array) return `"\\\\x${hex(value)}"`
  return type === 'boolean' ? (Number(value) === 0 ? 'f' : 't') : String(value)
}

/** Quotes text: without quotes `NULL`, commas, braces and spaces would mean something else. */
export function quoted(text: string): string {
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** Returns the text of one value as a parameter of its type. */
export function valueText(type: SqlType, value: Exclude<Stored, null>): string {
  if (value instanceof Uint8Array) return `\\x${hex(value)}`
  return type === 'boolean' ? (Number(value) === 0 ? 'f' : 't') : String(value)
}

/** Reads a value as the server writes it. Integers are bigints, as those that SQLite reads. */
export function readStored(type: SqlType, text: string | null | undefined): Stored {
  if (text === null || text === undefined) return null
  switch (type) {
    case 'text':
      return text
    case 'bytea':
      return Buffer.from(text.slice(2), 'hex')
    case 'double precision':
      return text === 'NaN' ? text : Number(text)
    case 'boolean':
      return text === 't' ? 1n : 0n
    default:
      return BigInt(text)
  }
}

/** Reads the values of a row. @param at position of the first one */
export function readValues(types: readonly SqlType[], row: readonly (string | null)[], at: number): Stored[] {
  return types.map((type, slot) => readStored(type, row[at + slot]))
}
