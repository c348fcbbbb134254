import { AppError, ERRORS, type ErrorName, isAppError, toAppError } from '../errors.js'
import type { Method, Scope } from './define-method.js'
import { errorText, type RequestId, type RpcError, readRequest, toRpcError } from './envelope.js'
import { discard, enveloped, joined, type Piece, resultPiece, whenOver } from './pieces.js'
import { readJson } from './read-json.js'
import { isStreamed } from './result.js'
import { shorten } from './shorten.js'

/** Time slice of a batch, ms. */
const SLICE_MS = 5

/** Methods that are served at one path. */
export interface Api<C> {
  readonly path: string
  readonly title: string
  readonly methods: ReadonlyMap<string, Method<C>>
}

/** The transport's side of the calls in one HTTP request. */
export interface Dispatch<C> {
  readonly api: Api<C>
  readonly context: C
  readonly requestId: string
  readonly maxBatch: number
  readonly maxDepth: number
  /** makes the OpenRPC document of this path, for `rpc.discover` */
  discover(): unknown
  mayCall(scope: Scope): boolean
  /** takes calls from the caller's allowance. @throws AppError RATE_LIMITED */
  charge(calls: number): Promise<void>
  /**
   * takes memory for a streamed result before it is begun; absent where memory is not counted
   *
   * @returns a function that gives it back
   * @throws AppError BUSY, CANCELLED
   */
  admitStream?(): Promise<() => void>
  /** receives errors that are no `AppError`, and those with a cause */
  onFault(method: string, error: unknown): void
  /**
   * receives the outcome of each call, under the name `unknown` for methods that do not exist; absent where
   * nothing is counted
   */
  onCall?(method: string, outcome: 'ok' | ErrorName, ms: number): void
}

/** Answer to one body; a null body for notifications, which have none. */
export interface Answer {
  status: number
  body: Piece | null
  retryAfterS?: number
}

/**
 * Answers one JSON-RPC body: a request, a notification or a batch.
 *
 * @returns status 200 for calls that reached their methods, 204 for notifications; 400 for text that is not
 *   JSON, 403 and 429 for a single call that was refused before its method ran. Errors of methods are in the
 *   body.
 * @see JSON-RPC 2.0 Specification, sections 4 to 6
 */
export async function dispatch<C>(bytes: Uint8Array, call: Dispatch<C>): Promise<Answer> {
  let value: unknown
  try {
    value = readJson(bytes, call.maxDepth)
  } catch (error) {
    return refusal(
      null,
      error,
      call.requestId,
      isAppError(error) && error.errorName === 'PARSE_ERROR' ? 400 : 200,
    )
  }
  return Array.isArray(value) ? await answerBatch(value, call) : await answerOne(value, call)
}

/** Runs a method and makes the text of its result, or its first piece. @throws what the method throws */
export async function callForPiece<C>(name: string, params: unknown, call: Dispatch<C>): Promise<Piece> {
  if (call.onCall === undefined) return await pieceOf(await callMethod(name, params, call), call)
  const startedAtMs = performance.now()
  let outcome: 'ok' | ErrorName = 'ok'
  try {
    return await pieceOf(await callMethod(name, params, call), call)
  } catch (error) {
    outcome = toAppError(error).errorName
    throw error
  } finally {
    const isKnown = call.api.methods.has(name) || name === 'rpc.discover'
    call.onCall(isKnown ? name : 'unknown', outcome, performance.now() - startedAtMs)
  }
}

/** Makes the text of a result. A streamed one holds memory of the request until it is over. */
async function pieceOf<C>(result: unknown, call: Dispatch<C>): Promise<Piece> {
  if (call.admitStream === undefined || !isStreamed(result)) return await resultPiece(result)
  const release = await call.admitStream()
  try {
    const piece = await resultPiece(result)
    return typeof piece === 'string' ? piece : whenOver(piece, release)
  } catch (error) {
    release()
    throw error
  }
}

/** Runs a method. @throws AppError METHOD_NOT_FOUND, FORBIDDEN, and what the method throws */
async function callMethod<C>(name: string, params: unknown, call: Dispatch<C>): Promise<unknown> {
  if (name === 'rpc.discover') return call.discover()
  const method = call.api.methods.get(name)
  if (method === undefined) {
    throw new AppError(
      'METHOD_NOT_FOUND',
      { method: shorten(name, 200) },
      { message: `No method ${quoted(name)} at this path` },
    )
  }
  if (!call.mayCall(method.scope)) {
    throw new AppError(
      'FORBIDDEN',
      { scope: method.scope },
      { message: `The key lacks the scope ${method.scope}` },
    )
  }
  return await method.call(params, call.context)
}

async function answerOne<C>(value: unknown, call: Dispatch<C>): Promise<Answer> {
  const request = readRequest(value)
  if ('fault' in request)
    return { status: 200, body: errorText(request.id, toRpcError(request.fault, call.requestId)) }
  try {
    await call.charge(1)
  } catch (error) {
    return refusal(request.id ?? null, error, call.requestId, 429)
  }
  const outcome = await run(request.method, request.params, request.id, call)
  if (request.id === undefined) return { status: 204, body: null }
  return { status: outcome.isForbidden ? 403 : 200, body: outcome.piece }
}

async function answerBatch<C>(items: unknown[], call: Dispatch<C>): Promise<Answer> {
  if (items.length === 0 || items.length > call.maxBatch) {
    const message = `Invalid request: found a batch of ${items.length}, expected 1 to ${call.maxBatch}`
    return refusal(
      null,
      new AppError('INVALID_REQUEST', { maxBatch: call.maxBatch }, { message }),
      call.requestId,
      200,
    )
  }
  try {
    await call.charge(items.length)
  } catch (error) {
    return refusal(null, error, call.requestId, 429)
  }
  const pieces: Piece[] = []
  let startedAtMs = performance.now()
  for (const item of items) {
    // others have their turn between two items, which may all be done without a wait
    if (performance.now() - startedAtMs > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      startedAtMs = performance.now()
    }
    const request = readRequest(item)
    if ('fault' in request) pieces.push(errorText(request.id, toRpcError(request.fault, call.requestId)))
    else {
      const { piece } = await run(request.method, request.params, request.id, call)
      if (request.id !== undefined) pieces.push(piece)
    }
  }
  return pieces.length === 0 ? { status: 204, body: null } : { status: 200, body: joined(pieces) }
}

/** Runs one request. The result of a notification is discarded. */
async function run<C>(
  name: string,
  params: unknown,
  id: RequestId | undefined,
  call: Dispatch<C>,
): Promise<{ piece: Piece; isForbidden: boolean }> {
  try {
    const piece = await callForPiece(name, params, call)
    if (id === undefined) {
      await discard(piece)
      return { piece: '', isForbidden: false }
    }
    return { piece: enveloped(piece, id), isForbidden: false }
  } catch (error) {
    report(name, error, call)
    const isForbidden = isAppError(error) && error.errorName === 'FORBIDDEN'
    return { piece: errorText(id ?? null, toRpcError(error, call.requestId)), isForbidden }
  }
}

function report<C>(name: string, error: unknown, call: Dispatch<C>): void {
  if (!isAppError(error) || error.cause !== undefined) call.onFault(name, error)
}

function refusal(id: RequestId, error: unknown, requestId: string, status: number): Answer {
  const rpcError: RpcError = toRpcError(error, requestId)
  const retryAfterS = rpcError.data.retryAfterS
  return {
    status: rpcError.code === ERRORS.INTERNAL.code ? 500 : status,
    body: errorText(id, rpcError),
    ...(typeof retryAfterS === 'number' ? { retryAfterS } : {}),
  }
}

function quoted(name: string): string {
  return JSON.stringify(shorten(name, 100))
}
