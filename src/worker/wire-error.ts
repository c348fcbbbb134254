import { AppError, type ErrorName, isAppError, messageOf } from '../errors.js'

/** An error between threads: `errorName` is null for errors other than `AppError`. */
export interface WireError {
  errorName: string | null
  message: string
  data: Record<string, unknown>
  stack: string | undefined
  /** code of an error of the system or of SQLite */
  code: string | undefined
}

/** Returns an error in a form that crosses threads. */
export function toWire(error: unknown): WireError {
  const stack = error instanceof Error ? error.stack : undefined
  if (isAppError(error))
    return { errorName: error.errorName, message: error.message, data: error.data, stack, code: undefined }
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return { errorName: null, message: messageOf(error), data: {}, stack, code }
}

/** Returns the error that another thread sent. */
export function fromWire(wire: WireError): Error {
  if (wire.errorName !== null)
    return new AppError(wire.errorName as ErrorName, wire.data, { message: wire.message })
  const error = Object.assign(new Error(wire.message), wire.code === undefined ? {} : { code: wire.code })
  if (wire.stack !== undefined) error.stack = wire.stack
  return error
}
