import { type AppError, ERRORS, retryAfterS, toAppError } from '../errors.js'
import type { Answer } from '../rpc/dispatch.js'
import { errorText, type RequestId, toRpcError } from '../rpc/envelope.js'
import { isWhole, type Piece, type WholePiece, whenOver } from '../rpc/pieces.js'
import { bodyStream, type StreamOptions } from './bodies/body-stream.js'
import type { Compressor } from './bodies/compress.js'

export type HeaderRecord = Readonly<Record<string, string>>

const JSON_TYPE = 'application/json; charset=utf-8'
const PROBLEM_TYPE = 'application/problem+json'
/** Chunks are collected up to this many characters before they go to the socket. */
const GATHER_CHARS = 32 * 1024

/** A longer text is sent in slices, as fast as the client reads, characters or bytes. */
const WHOLE_CHARS = 128 * 1024

/** A shorter text is not compressed: it fits one packet in any case. */
const MIN_COMPRESSED_CHARS = 1400

/** Responses made by `respond`. */
const complete = new WeakSet<Response>()

/** Makes a response with the headers that every response has. @param headers win over those */
export function respond(
  requestId: string,
  status: number,
  headers: HeaderRecord,
  body: string | Uint8Array | ReadableStream<Uint8Array> | null,
): Response {
  const all = { ...commonHeaders(requestId), ...headers }
  // bytes are never those of a SharedArrayBuffer, which a Response refuses
  const content = body as Exclude<typeof body, Uint8Array> | Uint8Array<ArrayBuffer>
  const response = new Response(content, { status, headers: all })
  complete.add(response)
  return response
}

/**
 * Checks whether `respond` made a response. Reading its headers to find out would cost as much as making
 * them.
 */
export function hasCommonHeaders(response: Response): boolean {
  return complete.has(response)
}

/** Headers that every response has. */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    // no page of another site may show what a browser reads with stored credentials
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

/** Options of an answer. */
export interface AnswerOptions extends StreamOptions {
  /** time of the searches of the request, ms; absent when it had none */
  readonly searchMs?: number | undefined
}

/**
 * Makes the response of dispatched calls.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
export function answerResponse(
  { status, body, retryAfterS: waitS }: Answer,
  options: AnswerOptions,
): Response | Promise<Response> {
  const headers: Record<string, string> = body === null ? {} : { 'Content-Type': JSON_TYPE }
  if (waitS !== undefined) headers['Retry-After'] = String(waitS)
  // no part of the answer, whose bytes are equal for equal requests
  if (options.searchMs !== undefined) headers['Server-Timing'] = `search;dur=${options.searchMs.toFixed(3)}`
  if (body === null) return respond(options.requestId, status, headers, null)
  return contentResponse(status, headers, body, options)
}

/**
 * Makes a response of any content type, compressed where the caller asks for it.
 *
 * @param headers `Content-Type` among them
 */
export function contentResponse(
  status: number,
  headers: HeaderRecord,
  body: Piece,
  options: StreamOptions,
): Response | Promise<Response> {
  const { compression, requestId } = options
  if (compression === undefined || (isWhole(body) && body.length < MIN_COMPRESSED_CHARS))
    return respond(requestId, status, headers, bodyOf(body, options))
  const coded = { ...headers, 'Content-Encoding': compression.coding, Vary: 'Accept-Encoding' }
  if (isWhole(body) && body.length <= WHOLE_CHARS) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const compressed = compression.whole(bytes)
    if (compressed === undefined) return respond(requestId, status, headers, body)
    return compressed.then((short) => respond(requestId, status, coded, short))
  }
  const compressor = compression.begin()
  const sent = compressor === undefined ? headers : coded
  return respond(requestId, status, sent, bodyOf(body, options, compressor))
}

/** Makes a response of JSON text, or of JSON text that is made while it is sent. */
export function jsonResponse(body: Piece, options: AnswerOptions): Response | Promise<Response> {
  return answerResponse({ status: 200, body }, options)
}

/** Makes a response of a short JSON document. */
export function documentResponse(
  body: object,
  requestId: string,
  status = 200,
  headers: HeaderRecord = {},
): Response {
  const all = { 'Content-Type': 'application/json', ...headers }
  return respond(requestId, status, all, JSON.stringify(body))
}

/** Makes a redirect. @param status 302 or 307, which keeps the method; 308 for a permanent one */
export function redirectResponse(location: string, requestId: string, status: 302 | 307 | 308): Response {
  return respond(requestId, status, { Location: location }, null)
}

/**
 * Makes a refusal by the transport: the HTTP status of the error, and a JSON-RPC error with `id` null.
 *
 * @param error anything but an `AppError` is answered as INTERNAL
 */
export function refusalResponse(error: unknown, requestId: string, headers: HeaderRecord = {}): Response {
  const known = toAppError(error)
  return refusalOfStatus(known, ERRORS[known.errorName].status, requestId, headers)
}

/** Makes the same refusal with another HTTP status than the error's own. */
export function refusalOfStatus(
  error: AppError,
  status: number,
  requestId: string,
  headers: HeaderRecord = {},
): Response {
  const id: RequestId = null
  const all = { ...refusalHeaders(error, JSON_TYPE), ...headers }
  return respond(requestId, status, all, errorText(id, toRpcError(error, requestId)))
}

/**
 * Makes a refusal of the REST form.
 *
 * @see RFC 9457, "Problem Details for HTTP APIs"
 */
export function problemResponse(error: unknown, requestId: string, headers: HeaderRecord = {}): Response {
  const known = toAppError(error)
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
  const all = { ...refusalHeaders(known, PROBLEM_TYPE), ...headers }
  return respond(requestId, status, all, JSON.stringify(body))
}

/** Headers of a refusal: its content type, and when to retry. */
export function refusalHeaders(error: AppError, type: string): Record<string, string> {
  const headers: Record<string, string> = { 'Content-Type': type }
  const waitS = retryAfterS(error)
  if (waitS !== undefined) headers['Retry-After'] = String(waitS)
  return headers
}

/** @param compressor compresses a body that is sent in parts */
function bodyOf(
  body: Piece,
  options: StreamOptions,
  compressor?: Compressor,
): WholePiece | ReadableStream<Uint8Array> {
  if (!isWhole(body)) return partStream(textParts(body), options, compressor)
  if (body.length <= WHOLE_CHARS) return body
  const held = options.holdText?.(body.length)
  const source = whenOver(once(body), () => held?.release())
  return partStream(textParts(source), options, compressor)
}

/** Source of one long text, which would otherwise be copied as a whole for a client that may not read it. */
async function* once<T>(text: T): AsyncGenerator<T> {
  yield text
}

/** Parts of a body. */
interface Parts {
  /** Returns the next bytes; none only where they are the last. */
  next(): Promise<{ bytes: Uint8Array; isDone: boolean }>
  stop(): Promise<unknown>
}

function partStream(
  parts: Parts,
  options: StreamOptions,
  compressor: Compressor | undefined,
): ReadableStream<Uint8Array> {
  return bodyStream(compressor === undefined ? parts : compressedParts(parts, compressor), options)
}

/** Compresses parts. A part of which nothing comes yet is followed by the next one. */
function compressedParts(parts: Parts, compressor: Compressor): Parts {
  return {
    async next() {
      try {
        for (;;) {
          const part = await parts.next()
          const bytes = await compressor.push(part.bytes, part.isDone)
          if (bytes.length > 0 || part.isDone) return { bytes, isDone: part.isDone }
        }
      } catch (error) {
        compressor.stop()
        throw error
      }
    },
    stop() {
      compressor.stop()
      return parts.stop()
    },
  }
}

/** Sends text in parts of one size, however it comes: a page of rows may have megabytes. */
function textParts(source: AsyncIterator<WholePiece>): Parts {
  const encoder = new TextEncoder()
  let text = ''
  let rest: Uint8Array = new Uint8Array(0)
  let isRead = false
  const next = async () => {
    while (text.length < GATHER_CHARS && rest.length === 0 && !isRead) {
      const step = await source.next()
      if (step.done === true) isRead = true
      else if (typeof step.value === 'string') text += step.value
      else rest = step.value
    }
    if (text !== '' || rest.length === 0) {
      const end = endOfPiece(text)
      const bytes = encoder.encode(text.slice(0, end))
      text = text.slice(end)
      return { bytes, isDone: isRead && text === '' && rest.length === 0 }
    }
    const bytes = rest.subarray(0, GATHER_CHARS)
    rest = rest.subarray(GATHER_CHARS)
    return { bytes, isDone: false }
  }
  return { next, stop: async () => await source.return?.() }
}

/** End of the next part of a text: it never parts the two halves of a character. */
function endOfPiece(text: string): number {
  const isParted = GATHER_CHARS < text.length && /[\uD800-\uDBFF]/.test(text[GATHER_CHARS - 1] ?? '')
  return isParted ? GATHER_CHARS - 1 : GATHER_CHARS
}
