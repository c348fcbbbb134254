import { AppError, ERRORS, isAppError } from '../errors.js'
import type { Answer } from '../rpc/dispatch.js'
import { errorText, type RequestId, toRpcError } from '../rpc/envelope.js'
import type { Piece } from '../rpc/pieces.js'
import { bodyStream, type StreamOptions } from './body-stream.js'

const JSON_TYPE = 'application/json; charset=utf-8'
const PROBLEM_TYPE = 'application/problem+json'
/** Room comes when somebody makes it: asking again at once would only wear the device out. */
const DISK_RETRY_S = 60
/** Chunks are gathered up to this size before they go to the socket. */
const GATHER_CHARS = 32 * 1024

/** The HTTP response of a dispatched call. */
export function answerResponse(answer: Answer, options: StreamOptions): Response {
  const { status, body, retryAfterS } = answer
  const content = typeof body === 'string' || body === null ? body : textStream(body, options)
  const headers = headersOf(options.requestId, body === null ? null : JSON_TYPE)
  if (retryAfterS !== undefined) headers['Retry-After'] = String(Math.ceil(retryAfterS))
  return stamp(new Response(content, { status, headers }))
}

/** An answer of any type. @param headers `Content-Type` among them */
export function contentResponse(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Piece,
  options: StreamOptions,
): Response {
  const content = typeof body === 'string' ? body : textStream(body, options)
  return stamp(
    new Response(content, { status, headers: { ...headersOf(options.requestId, null), ...headers } }),
  )
}

/** JSON text, or JSON text that is made while it is sent. */
export function jsonResponse(body: Piece, options: StreamOptions): Response {
  return answerResponse({ status: 200, body }, options)
}

/** A JSON document of a few lines that belongs to no call. */
export function documentResponse(
  body: object,
  requestId: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const all = { ...headersOf(requestId, 'application/json'), ...headers }
  return stamp(new Response(JSON.stringify(body), { status, headers: all }))
}

/** A refusal by the transport: the error's own HTTP status, a JSON-RPC error body with `id` null unless it is known. */
export function refusalResponse(error: unknown, requestId: string, id: RequestId = null): Response {
  const known = isAppError(error) ? error : new AppError('INTERNAL')
  return refusalOfStatus(known, ERRORS[known.errorName].status, requestId, id)
}

/** The same for uploads, whose clients know 507 for a device out of disk. */
export function uploadRefusalResponse(error: unknown, requestId: string): Response {
  const known = isAppError(error) ? error : new AppError('INTERNAL')
  const status = known.errorName === 'DISK_FULL' ? 507 : ERRORS[known.errorName].status
  return refusalOfStatus(known, status, requestId, null)
}

function refusalOfStatus(known: AppError, status: number, requestId: string, id: RequestId): Response {
  const headers = refusalHeaders(known, requestId, JSON_TYPE)
  return stamp(new Response(errorText(id, toRpcError(known, requestId)), { status, headers }))
}

/** RFC 9457 problem details, for the REST form. */
export function problemResponse(error: unknown, requestId: string): Response {
  const known = isAppError(error) ? error : new AppError('INTERNAL')
  const { code, status, message } = ERRORS[known.errorName]
  const body = {
    type: 'about:blank',
    title: message,
    status,
    detail: known.message,
    name: known.errorName,
    code,
    requestId,
    ...known.data,
  }
  const headers = refusalHeaders(known, requestId, PROBLEM_TYPE)
  return stamp(new Response(JSON.stringify(body), { status, headers }))
}

/** True for a response that carries the headers every response has. */
export function isStamped(response: Response): boolean {
  return stamped.has(response)
}

/** Headers that every response carries; `type` null for one without a body. */
export function headersOf(requestId: string, type: string | null): Record<string, string> {
  const headers: Record<string, string> = {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  }
  if (type !== null) headers['Content-Type'] = type
  return headers
}

/**
 * Headers are given when a response is made: to touch them afterwards would turn the adapter's light response into a whole
 * one, which costs more than the call (measured: 200 µs against 40).
 */
const stamped = new WeakSet<Response>()

/** Says of a response that `headersOf` is among its headers. */
export function stamp(response: Response): Response {
  stamped.add(response)
  return response
}

/** Headers of a refusal: when to come again, how to sign in. */
export function refusalHeaders(error: AppError, requestId: string, type: string): Record<string, string> {
  const headers = headersOf(requestId, type)
  const { retryAfterS } = error.data
  if (typeof retryAfterS === 'number') headers['Retry-After'] = String(Math.ceil(retryAfterS))
  else if (error.errorName === 'DISK_FULL') headers['Retry-After'] = String(DISK_RETRY_S)
  else if (ERRORS[error.errorName].status === 503) headers['Retry-After'] = '1'
  if (error.errorName === 'UNAUTHENTICATED')
    headers['WWW-Authenticate'] = 'Basic realm="fieldgate", charset="UTF-8"'
  return headers
}

function textStream(
  source: AsyncIterableIterator<string>,
  options: StreamOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const next = async () => {
    const { text, isDone } = await gather(source)
    return { bytes: encoder.encode(text), isDone }
  }
  return bodyStream({ next, stop: async () => await source.return?.() }, options)
}

async function gather(source: AsyncIterator<string>): Promise<{ text: string; isDone: boolean }> {
  let text = ''
  while (text.length < GATHER_CHARS) {
    const step = await source.next()
    if (step.done === true) return { text, isDone: true }
    text += step.value
  }
  return { text, isDone: false }
}
