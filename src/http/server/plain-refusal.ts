import { type AppError, ERRORS } from '../../errors.js'
import { errorText, toRpcError } from '../../rpc/envelope.js'
import { requestIdOf } from './request-id.js'

/** Parts of a response as Node writes it. */
interface PlainResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/**
 * Makes a refusal below the routes, where no header of the request was read: a JSON-RPC error under a new
 * request id.
 */
export function plainRefusal(error: AppError): PlainResponse {
  const requestId = requestIdOf(undefined)
  const body = errorText(null, toRpcError(error, requestId))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
  }
  return { status: ERRORS[error.errorName].status, headers, body }
}
