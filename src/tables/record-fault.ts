import { AppError, isAppError } from '../errors.js'

/**
 * Returns the error of a refused record with the place of the record in front of its message. Other errors
 * are returned as they are.
 *
 * @param error thrown by a call that stores records; `data.index` counts its records from 0
 * @param placeOf place of a record as the caller knows it, for instance `record_set[3]`
 */
export function withPlace(error: unknown, placeOf: (index: number) => string): unknown {
  if (!isAppError(error) || typeof error.data.index !== 'number') return error
  const message = `${placeOf(error.data.index)}: ${error.message}`
  return new AppError(error.errorName, error.data, { message, cause: error.cause })
}
