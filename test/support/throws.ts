import type { Test } from 'tap'
import { type ErrorName, isAppError } from '../../src/errors.js'

/** Passes when `work` throws the error of that name; its data and message for further checks. */
export function throwsWith(
  t: Test,
  work: () => unknown,
  errorName: ErrorName,
): { data: unknown; message: string } {
  try {
    work()
  } catch (error) {
    if (isAppError(error) && error.errorName === errorName) {
      t.pass(errorName)
      return { data: error.data, message: error.message }
    }
    t.error(error, `expected ${errorName}`)
    return { data: undefined, message: '' }
  }
  t.fail(`nothing was thrown, expected ${errorName}`)
  return { data: undefined, message: '' }
}
