import { AppError } from '../../errors.js'
import { tooLarge } from './value-size.js'

/** Largest value that is read together with others. */
export const LARGE_BYTES = 256 * 1024
/** Bytes of UTF-8 for a character, at most. */
export const CHAR_BYTES = 4

/** A large value of a row. */
export interface LargeValue {
  readonly name: string
  readonly bytes: number
}

/**
 * Sums the large values of a row.
 *
 * @param maxBytes most bytes of all of them
 * @throws AppError VALUE_TOO_LARGE when they exceed it
 */
export function sumLarge(values: readonly LargeValue[], maxBytes: number): number {
  const total = values.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= maxBytes) return total
  const largest = values.reduce((most, value) => (value.bytes > most.bytes ? value : most))
  const isAlone = largest.bytes > maxBytes
  throw valueTooLarge(isAlone ? largest.name : null, isAlone ? largest.bytes : total, maxBytes)
}

/**
 * Makes the error for a stored value beyond the limit: an earlier version wrote it, or the limit was higher.
 *
 * @param column null when no value of the row alone is too large
 */
export function valueTooLarge(column: string | null, foundBytes: number, maxBytes: number): AppError {
  const where = column === null ? 'a row' : `a value of the column ${column}`
  const advice = 'leave the column out, raise the limit, or use fieldgate data export'
  return new AppError(
    'VALUE_TOO_LARGE',
    { column, foundBytes, maxBytes },
    { message: `${where}: ${tooLarge(foundBytes, maxBytes)}; ${advice}` },
  )
}
