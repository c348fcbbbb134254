import { AppError } from '../../errors.js'

/** Makes the error of a delta that cannot be applied. @param message found and expected */
export function badDelta(message: string): AppError {
  return new AppError('BAD_DELTA', {}, { message: `Bad delta: ${message}` })
}
