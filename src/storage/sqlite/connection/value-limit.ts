import { AppError } from '../../../errors.js'
import { tooLarge } from '../../columns/value-size.js'
import type { Db } from './database.js'

const limits = new WeakMap<Db, number>()

/** Limits the values that are written and read through a connection, bytes. */
export function limitValues(db: Db, maxBytes: number): void {
  limits.set(db, maxBytes)
}

/** Returns the limit of a connection; infinite without one, as for exports by the command line. */
export function valueLimitOf(db: Db): number {
  return limits.get(db) ?? Number.POSITIVE_INFINITY
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
