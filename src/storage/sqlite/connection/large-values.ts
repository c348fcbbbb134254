import type { Db } from './database.js'
import { valueLimitOf, valueTooLarge } from './value-limit.js'

/*
 * A row with a large value is not read together with its page, of which each reader may hold one: the page has
 * the size in place of the value, and the row is read when it is its turn. Sizes are integers, which no column
 * of text or bytes holds.
 */

/** Largest value that is read with its page. */
export const LARGE_BYTES = 256 * 1024
/** Bytes of UTF-8 for a character, at most. */
export const CHAR_BYTES = 4
/** Bytes that encryption adds. */
const CIPHER_BYTES = 64

/** True for a column whose values may be large. @param length most characters or bytes; null for any number */
export function mayBeLarge(kind: string, length: number | null): boolean {
  if (kind !== 'text' && kind !== 'bytes') return false
  return length === null || length * CHAR_BYTES + CIPHER_BYTES > LARGE_BYTES
}

/** Returns SQL for a value, or for its size in bytes when it is large: the head of a value has its size. */
export function valueOrSizeSql(sql: string): string {
  return `CASE WHEN octet_length(${sql}) > ${LARGE_BYTES} THEN octet_length(${sql}) ELSE ${sql} END`
}

/** A large value of a row. */
export interface LargeValue {
  readonly name: string
  readonly bytes: number
}

/**
 * Sums the large values of a row.
 *
 * @throws AppError VALUE_TOO_LARGE when they exceed the limit of the connection
 */
export function requireReadable(db: Db, values: readonly LargeValue[]): number {
  const maxBytes = valueLimitOf(db)
  const total = values.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= maxBytes) return total
  const largest = values.reduce((most, value) => (value.bytes > most.bytes ? value : most))
  const isAlone = largest.bytes > maxBytes
  throw valueTooLarge(isAlone ? largest.name : null, isAlone ? largest.bytes : total, maxBytes)
}
