import type { Test } from 'tap'
import { type ErrorName, isAppError } from '../../src/errors.js'

/** What a refusal must carry besides its name. */
export interface Refusal {
  /** found in the message */
  message?: RegExp
  /** members of `data` */
  data?: Record<string, unknown>
}

/** The promise is rejected with an `AppError` of this name. */
export async function rejectsWith(
  t: Test,
  promise: Promise<unknown>,
  name: ErrorName,
  refusal: Refusal = {},
): Promise<void> {
  const error = await promise.then(
    (value) => new Error(`resolved with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (!isAppError(error)) {
    t.fail(`expected ${name}, found ${String(error)}`)
    return
  }
  t.equal(error.errorName, name, error.message)
  if (refusal.message !== undefined) t.match(error.message, refusal.message)
  if (refusal.data !== undefined) t.match(error.data, refusal.data)
}
