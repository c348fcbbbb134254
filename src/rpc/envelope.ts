import { AppError, ERRORS, toAppError } from '../errors.js'
import { describeFound } from '../messages/fault-text.js'

export type RequestId = string | number | null

/** A well-formed JSON-RPC 2.0 request; `id` undefined marks a notification. */
export interface RpcRequest {
  id: RequestId | undefined
  method: string
  params: unknown
}

/** The error object of an answer. */
export interface RpcError {
  code: number
  message: string
  data: Record<string, unknown>
}

/**
 * Checks one member of a batch, or a whole body, against section 4 of the specification.
 *
 * @returns the request, or the fault with the id of the request, null when that is missing or invalid
 * @see JSON-RPC 2.0 Specification, section 4
 */
export function readRequest(value: unknown): RpcRequest | { id: RequestId; fault: AppError } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return invalid(null, `found ${describeFound(value)}, expected a request object`)
  }
  const request = value as Record<string, unknown>
  const hasId = Object.hasOwn(request, 'id')
  const id = hasId ? readId(request.id) : undefined
  if (hasId && id === undefined) {
    return invalid(
      null,
      `id: found ${describeFound(request.id)}, expected a string, a number that a double holds exactly, or null`,
    )
  }
  if (request.jsonrpc !== '2.0') {
    return invalid(id ?? null, `jsonrpc: found ${describeFound(request.jsonrpc)}, expected "2.0"`)
  }
  if (typeof request.method !== 'string') {
    return invalid(id ?? null, `method: found ${describeFound(request.method)}, expected a string`)
  }
  const hasParams = Object.hasOwn(request, 'params')
  if (hasParams && (typeof request.params !== 'object' || request.params === null)) {
    return invalid(
      id ?? null,
      `params: found ${describeFound(request.params)}, expected an object or an array`,
    )
  }
  return { id, method: request.method, params: hasParams ? request.params : undefined }
}

/**
 * Makes the error object of anything thrown. What is no `AppError` becomes INTERNAL, or the error of a failing
 * disk, without its message.
 */
export function toRpcError(error: unknown, requestId: string): RpcError {
  const known = toAppError(error)
  const { code } = ERRORS[known.errorName]
  return { code, message: known.message, data: { name: known.errorName, requestId, ...known.data } }
}

/** Returns the text of an error answer. */
export function errorText(id: RequestId, error: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', error, id })
}

/** Text of an answer before its result. */
export const RESULT_HEAD = '{"jsonrpc":"2.0","result":'

/** Returns the text of an answer after its result. */
export function resultTail(id: RequestId): string {
  return `,"id":${JSON.stringify(id)}}`
}

function readId(id: unknown): RequestId | undefined {
  if (id === null || typeof id === 'string') return id
  if (typeof id !== 'number' || !Number.isFinite(id)) return undefined
  return Number.isInteger(id) && !Number.isSafeInteger(id) ? undefined : id
}

function invalid(id: RequestId, what: string): { id: RequestId; fault: AppError } {
  return { id, fault: new AppError('INVALID_REQUEST', {}, { message: `Invalid request: ${what}` }) }
}
