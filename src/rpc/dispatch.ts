import { AppError, ERRORS, type ErrorName, isAppError, retryAfterS, toAppError } from '../errors.js'
import { candidates } from '../messages/candidates.js'
import { describeFound } from '../messages/fault-text.js'
import type { Method, Scope } from './define-method.js'
import {
  errorText,
  type RequestId,
  type RpcError,
  type RpcRequest,
  readRequest,
  toRpcError,
} from './envelope.js'
import { discard, enveloped, isWhole, joined, type Piece, resultPiece, whenOver } from './pieces.js'
import { readExactAgain, readJson, readJsonInTurn } from './read-json.js'
import { isStreamed } from './result.js'
import { shorten } from './shorten.js'

/** Time slice of a batch, ms. */
const SLICE_MS = 5

/** The method that every path has, and that needs no key. */
export const DISCOVER = 'rpc.discover'

/** Methods that are served at one path. */
export interface Api<C> {
  readonly path: string
  readonly title: string
  /** Returns the methods by their names. Their code and their shapes are loaded with the first call. */
  methods(): Promise<ReadonlyMap<string, Method<C>>>
}

/** The transport's side of the calls in one HTTP request. */
export interface Dispatch<C> {
  readonly api: Api<C>
  readonly context: C
  readonly requestId: string
  readonly maxBatch: number
  readonly maxDepth: number
  /** makes the OpenRPC document of this path, for `rpc.discover` */
  discover(): Promise<unknown>
  /** Returns the path that has a method, also one that is an upload; undefined for an unknown one. */
  pathOf(method: string): Promise<string | undefined>
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
 *   JSON, 403 and 429 for a single call that was refused before its method ran, 507 for one that found the
 *   disk full, 503 for one that found an engine of the hub away. Other errors of methods are in the body alone.
 * @see JSON-RPC 2.0 Specification, sections 4 to 6
 */
export async function dispatch<C>(bytes: Uint8Array, call: Dispatch<C>): Promise<Answer> {
  let value: unknown
  try {
    value = await readJsonInTurn(bytes, call.maxDepth)
  } catch (error) {
    return refusal(
      null,
      error,
      call.requestId,
      isAppError(error) && error.errorName === 'PARSE_ERROR' ? 400 : 200,
    )
  }
  let exactValue: Promise<unknown> | undefined
  const exactBody = () => {
    exactValue ??= readExactAgain(bytes)
    return exactValue
  }
  if (Array.isArray(value)) return await answerBatch(value, call, exactBody)
  return await answerOne(value, call, async () => paramsOf(await exactBody()))
}

function paramsOf(request: unknown): unknown {
  return (request as { params?: unknown }).params
}

/**
 * Answers a body that is one request of `rpc.discover`, which needs no key.
 *
 * @returns undefined for any other body, also one that is not JSON
 */
export async function answerDiscovery(
  bytes: Uint8Array,
  { discover, maxDepth }: Pick<Dispatch<never>, 'discover' | 'maxDepth'>,
): Promise<Answer | undefined> {
  let value: unknown
  try {
    value = readJson(bytes, maxDepth)
  } catch {
    return undefined // refused as a body without credentials, whatever is wrong with it
  }
  const request = readRequest(value)
  if ('fault' in request || request.method !== DISCOVER || request.id === undefined) return undefined
  return { status: 200, body: enveloped(await resultPiece(await discover()), request.id) }
}

/**
 * Runs a method and makes the text of its result, or its first piece.
 *
 * @param exact reads the params again, with numbers as supplied
 * @throws what the method throws
 */
export async function callForPiece<C>(
  name: string,
  params: unknown,
  call: Dispatch<C>,
  exact?: () => Promise<unknown>,
): Promise<Piece> {
  if (call.onCall === undefined) return await pieceOf(await callMethod(name, params, call, exact), call)
  const startedAtMs = performance.now()
  let outcome: 'ok' | ErrorName = 'ok'
  try {
    return await pieceOf(await callMethod(name, params, call, exact), call)
  } catch (error) {
    outcome = toAppError(error).errorName
    throw error
  } finally {
    const isKnown = name === DISCOVER || (await call.api.methods()).has(name)
    call.onCall(isKnown ? name : 'unknown', outcome, performance.now() - startedAtMs)
  }
}

/** Makes the text of a result. A streamed one holds memory of the request until it is over. */
async function pieceOf<C>(result: unknown, call: Dispatch<C>): Promise<Piece> {
  if (call.admitStream === undefined || !isStreamed(result)) return await resultPiece(result)
  const release = await call.admitStream()
  try {
    const piece = await resultPiece(result)
    return isWhole(piece) ? piece : whenOver(piece, release)
  } catch (error) {
    release()
    throw error
  }
}

/** Runs a method. @throws AppError METHOD_NOT_FOUND, FORBIDDEN, and what the method throws */
async function callMethod<C>(
  name: string,
  params: unknown,
  call: Dispatch<C>,
  exact?: () => Promise<unknown>,
): Promise<unknown> {
  if (name === DISCOVER) return await call.discover()
  const methods = await call.api.methods()
  const method = methods.get(name)
  if (method === undefined) throw await unknownMethod(name, methods.keys(), call)
  if (!call.mayCall(method.scope)) {
    throw new AppError(
      'FORBIDDEN',
      { scope: method.scope },
      { message: `The key lacks the scope ${method.scope}` },
    )
  }
  return await method.call(params, call.context, exact)
}

/** Errors of methods that a single call answers with their HTTP status: what is in front of it must see them. */
const TRANSPORT_ERRORS: ReadonlySet<ErrorName> = new Set([
  'FORBIDDEN',
  'DISK_FULL',
  'DATABASE_UNAVAILABLE',
  'OBJECTS_UNAVAILABLE',
])

async function answerOne<C>(
  value: unknown,
  call: Dispatch<C>,
  exact: () => Promise<unknown>,
): Promise<Answer> {
  const request = readRequest(value)
  if ('fault' in request)
    return { status: 200, body: errorText(request.id, toRpcError(request.fault, call.requestId)) }
  try {
    await call.charge(1)
  } catch (error) {
    return refusal(request.id ?? null, error, call.requestId, 429)
  }
  const outcome = await run(request, call, exact)
  if (request.id === undefined) return { status: 204, body: null }
  const { piece, error } = outcome
  if (error === undefined || !TRANSPORT_ERRORS.has(error.errorName)) return { status: 200, body: piece }
  const waitS = retryAfterS(error)
  return {
    status: ERRORS[error.errorName].status,
    body: piece,
    ...(waitS === undefined ? {} : { retryAfterS: waitS }),
  }
}

async function answerBatch<C>(
  items: unknown[],
  call: Dispatch<C>,
  exactBody: () => Promise<unknown>,
): Promise<Answer> {
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
  const methods = await call.api.methods()
  const pieces: Promise<Piece | undefined>[] = []
  let startedAtMs = performance.now()
  let isAlone = true
  for (const [index, item] of items.entries()) {
    const mayOverlap = overlaps(item, methods)
    // the items before it are over, unless all of them and this one may run side by side
    if (isAlone || !mayOverlap) await Promise.all(pieces)
    isAlone = !mayOverlap
    // others have their turn between two items, which may all be done without a wait
    if (performance.now() - startedAtMs > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      startedAtMs = performance.now()
    }
    pieces.push(answerItem(item, call, async () => paramsOf(((await exactBody()) as unknown[])[index])))
  }
  const made = (await Promise.all(pieces)).filter((piece) => piece !== undefined)
  return made.length === 0 ? { status: 204, body: null } : { status: 200, body: joined(made) }
}

function overlaps<C>(item: unknown, methods: ReadonlyMap<string, Method<C>>): boolean {
  if (typeof item !== 'object' || item === null || !('method' in item)) return false
  return typeof item.method === 'string' && methods.get(item.method)?.mayOverlap === true
}

/** Answers one item of a batch. Never rejects. @returns undefined for a notification */
async function answerItem<C>(
  item: unknown,
  call: Dispatch<C>,
  exact: () => Promise<unknown>,
): Promise<Piece | undefined> {
  const request = readRequest(item)
  if ('fault' in request) return errorText(request.id, toRpcError(request.fault, call.requestId))
  const { piece } = await run(request, call, exact)
  return request.id === undefined ? undefined : piece
}

/** Runs one request. The result of a notification is discarded. */
async function run<C>(
  { method: name, params, id }: RpcRequest,
  call: Dispatch<C>,
  exact: () => Promise<unknown>,
): Promise<{ piece: Piece; error?: AppError }> {
  try {
    const piece = await callForPiece(name, params, call, exact)
    if (id === undefined) {
      await discard(piece)
      return { piece: '' }
    }
    return { piece: enveloped(piece, id) }
  } catch (error) {
    report(name, error, call)
    const piece = errorText(id ?? null, toRpcError(error, call.requestId))
    return isAppError(error) ? { piece, error } : { piece }
  }
}

function report<C>(name: string, error: unknown, call: Dispatch<C>): void {
  if (!isAppError(error) || error.cause !== undefined) call.onFault(name, error)
}

function refusal(id: RequestId, error: unknown, requestId: string, status: number): Answer {
  const rpcError: RpcError = toRpcError(error, requestId)
  const waitS = isAppError(error) ? retryAfterS(error) : undefined
  return {
    status: rpcError.code === ERRORS.INTERNAL.code ? 500 : status,
    body: errorText(id, rpcError),
    ...(waitS === undefined ? {} : { retryAfterS: waitS }),
  }
}

/** Most names that are offered for an unknown one. */
const MAX_OFFERED = 3

async function unknownMethod<C>(
  name: string,
  known: Iterable<string>,
  { pathOf }: Dispatch<C>,
): Promise<AppError> {
  const path = await pathOf(name)
  const offered = candidates(known, name, MAX_OFFERED)
  const where = path === undefined ? `expected one like ${offered}` : `which ${path} has`
  return new AppError(
    'METHOD_NOT_FOUND',
    { method: shorten(name, 200), ...(path === undefined ? {} : { path }) },
    { message: `Found the method ${describeFound(name)}, ${where}` },
  )
}
