import { type AuthStores, authenticate } from '../auth/authenticate.js'
import { type Caller, isAllowed } from '../auth/caller.js'
import { AppError, isAppError } from '../errors.js'
import { type Answer, type Api, callForPiece, type Dispatch, dispatch } from '../rpc/dispatch.js'
import type { Piece } from '../rpc/pieces.js'
import { readJson } from '../rpc/read-json.js'
import { answerResponse, jsonResponse, problemResponse, refusalResponse } from './answer.js'
import type { StreamOptions } from './body-stream.js'
import { addressOf, type HttpContext } from './env.js'
import type { Meter } from './metrics.js'
import type { RateLimiter } from './rate-limit.js'
import { type BodyLimits, readBody, requireJson } from './read-body.js'

/** What the routes of one API need from outside. */
export interface RpcDeps<C> {
  readonly stores: AuthStores
  /** lower-case name of the session token header */
  readonly tokenHeader: string
  readonly limiter: RateLimiter
  readonly maxBatch: number
  readonly maxDepth: number
  readonly bodyLimits: BodyLimits
  readonly writeIdleMs: number
  contextOf(call: { caller: Caller; signal: AbortSignal; requestId: string }): C
  discover(api: Api<C>): unknown
  onFault(requestId: string, method: string, error: unknown): void
  /** told when a caller went away before the end of a streamed result, which is not read any further */
  onHangUp(requestId: string, method: string): void
  /** told of each refused sign-in, and once when an address has failed so often that it must wait */
  onSignInFailure(c: HttpContext, isLockedOut: boolean): void
  /** told of each call that ended well, for the audit log */
  onDone?(caller: Caller, requestId: string, method: string): void
  /** absent where nobody counts */
  readonly meter?: Meter
  /** fires when the gateway stops */
  readonly stopSignal: AbortSignal
}

/** Reads the bodies of a path and answers them; replaced where a path takes larger bodies than fit memory. */
export interface BodyAnswerer<C> {
  /** a JSON-RPC request or batch */
  answerRpc(c: HttpContext, call: Dispatch<C>): Promise<Answer>
  /** params alone, of the REST form; faults are thrown */
  answerParams(c: HttpContext, method: string, call: Dispatch<C>): Promise<Piece>
}

/** Handler of `POST <path>`: JSON-RPC. */
export function rpcHandler<C>(api: Api<C>, deps: RpcDeps<C>, answerer: BodyAnswerer<C>) {
  return async (c: HttpContext): Promise<Response> => {
    const requestId = c.get('requestId')
    try {
      const caller = await signIn(c, deps)
      requireJson(c)
      return answerResponse(
        await answerer.answerRpc(c, callOf(c, api, caller, deps)),
        streamOptions(c, api.path, deps),
      )
    } catch (error) {
      if (!isAppError(error)) deps.onFault(requestId, api.path, error)
      return refusalResponse(error, requestId)
    }
  }
}

/** The ordinary way: the whole body in memory, up to the API's limit. */
export function smallBodyAnswerer<C>(limits: BodyLimits): BodyAnswerer<C> {
  return {
    answerRpc: async (c, call) => await dispatch(await readBody(c, limits), call),
    answerParams: async (c, method, call) => await answerParamsText(await readBody(c, limits), method, call),
  }
}

/** Calls a method with the params that a body holds; no body at all is no params. */
export async function answerParamsText<C>(
  body: Uint8Array,
  method: string,
  call: Dispatch<C>,
): Promise<Piece> {
  const params = body.byteLength === 0 ? undefined : readJson(body, call.maxDepth)
  await call.charge(1)
  return await callForPiece(method, params, call)
}

/** Handler of `POST <path>/call/<method>`: params in, the bare result out, faults as problem details. */
export function restHandler<C>(api: Api<C>, deps: RpcDeps<C>, answerer: BodyAnswerer<C>) {
  return async (c: HttpContext): Promise<Response> => {
    const requestId = c.get('requestId')
    const method = c.req.param('method') ?? ''
    try {
      const caller = await signIn(c, deps)
      requireJson(c)
      const piece = await answerer.answerParams(c, method, callOf(c, api, caller, deps))
      return jsonResponse(piece, streamOptions(c, method, deps))
    } catch (error) {
      if (!isAppError(error) || error.cause !== undefined) deps.onFault(requestId, method, error)
      return problemResponse(error, requestId)
    }
  }
}

/** Who calls. @throws AppError UNAUTHENTICATED or RATE_LIMITED */
export async function signIn<C>(c: HttpContext, deps: RpcDeps<C>): Promise<Caller> {
  const address = addressOf(c)
  await deps.limiter.mayTry(address)
  try {
    const caller = await authenticate((name) => c.req.header(name), deps.tokenHeader, deps.stores)
    c.set('caller', caller)
    return caller
  } catch (error) {
    if (isAppError(error)) {
      const isLockedOut = await deps.limiter.countFailure(address)
      deps.meter?.signInFailed()
      deps.onSignInFailure(c, isLockedOut)
    }
    throw error
  }
}

/** One HTTP request's worth of calls; the hang-up signal is made only when a handler looks at it. */
export function callOf<C>(c: HttpContext, api: Api<C>, caller: Caller, deps: RpcDeps<C>): Dispatch<C> {
  const requestId = c.get('requestId')
  let signal: AbortSignal | undefined
  const callContext = {
    caller,
    requestId,
    get signal() {
      signal ??= AbortSignal.any([c.req.raw.signal, deps.stopSignal])
      return signal
    },
  }
  return {
    api,
    context: deps.contextOf(callContext),
    requestId,
    maxBatch: deps.maxBatch,
    maxDepth: deps.maxDepth,
    discover: () => deps.discover(api),
    mayCall: (scope) => isAllowed(caller.scopes, scope),
    charge: (calls) => deps.limiter.charge(caller.keyId, addressOf(c), calls),
    onFault: (method, error) => deps.onFault(requestId, method, error),
    onCall(method, outcome, ms) {
      deps.meter?.call(method, outcome, ms)
      if (outcome === 'ok') deps.onDone?.(caller, requestId, method)
    },
  }
}

/** @throws AppError FORBIDDEN */
export function requireScope<C>(call: Dispatch<C>, scope: Parameters<Dispatch<C>['mayCall']>[0]): void {
  if (!call.mayCall(scope))
    throw new AppError('FORBIDDEN', { scope }, { message: `The key lacks the scope ${scope}` })
}

/** How a streamed answer behaves on this connection. */
export function streamOptions<C>(c: HttpContext, method: string, deps: RpcDeps<C>): StreamOptions {
  return {
    requestId: c.get('requestId'),
    writeIdleMs: deps.writeIdleMs,
    onFault: (error) => deps.onFault(c.get('requestId'), method, error),
    onHangUp: () => deps.onHangUp(c.get('requestId'), method),
    breakOff: () => c.env?.outgoing?.destroy(),
  }
}
