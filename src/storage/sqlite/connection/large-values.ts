import { CHAR_BYTES, LARGE_BYTES, type LargeValue, sumLarge } from '../../columns/large-values.js'
import type { Db } from './database.js'
import { valueLimitOf } from './value-limit.js'

/*
 * A row with a large value is not read together with its page, of which each reader may hold one: the page has
 * the size in place of the value, and the row is read when it is its turn. Sizes are integers, which no column
 * of text or bytes holds.
 */

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

/**
 * Sums the large values of a row.
 *
 * @throws AppError VALUE_TOO_LARGE when they exceed the limit of the connection
 */
export function requireReadable(db: Db, values: readonly LargeValue[]): number {
  return sumLarge(values, valueLimitOf(db))
}
