import { type AuthStores, authenticate, keyIdOf } from '../auth/authenticate.js'
import { type Caller, isAllowed, requireScope } from '../auth/caller.js'
import { type AppError, isAppError } from '../errors.js'
import type { Scope } from '../rpc/define-method.js'
import type { Api, Dispatch } from '../rpc/dispatch.js'
import { type AnswerOptions, refusalResponse } from './answer.js'
import type { Compressions } from './bodies/compress.js'
import type { ByteBudget } from './byte-budget.js'
import { addressOf, type HttpContext, hasCredentials, headerOf } from './env.js'
import { streamAdmission } from './memory.js'
import type { Meter } from './metrics.js'
import { type RateLimiter, tooManyFailures } from './rate-limit.js'
import type { BodyLimits } from './read-body.js'
import { requestSignal } from './request-signal.js'
import { noteSignIn } from './server/sockets.js'

/** What a context of a call has of its request. */
export interface Call {
  readonly caller: Caller
  readonly requestId: string
  /** receives the time that a search took in its thread, ms */
  noteSearchMs(ms: number): void
  /** Returns the signal that fires when the caller hangs up or the gateway stops. Most calls never ask for it. */
  endSignal(): AbortSignal
}

/**
 * Dependencies of every route of calls: sign-in, limits, the context of a call, and hooks for logs and
 * metrics.
 */
export interface CallDeps<C> {
  readonly stores: AuthStores
  /** lower-case name of the session token header */
  readonly tokenHeader: string
  readonly limiter: RateLimiter
  readonly maxBatch: number
  readonly maxDepth: number
  readonly bodyLimits: BodyLimits
  /** memory of all requests together */
  readonly budget: ByteBudget
  readonly writeIdleMs: number
  /** absent where answers are not compressed */
  readonly compressions?: Compressions
  contextOf(call: Call): C
  discover(api: Api<C>): Promise<unknown>
  /** Returns the path that has a method; undefined for an unknown one. */
  pathOf(method: string): Promise<string | undefined>
  /** receives errors that are no refusal, and refusals with a cause */
  onFault(requestId: string, method: string, error: unknown): void
  /** called when a caller hung up before the end of a streamed result, whose source is then closed */
  onHangUp(requestId: string, method: string): void
  /** called for each refused sign-in. @param isFirstBeyond true for the first one beyond the allowance */
  onSignInFailure(c: HttpContext, isFirstBeyond: boolean): void
  /** called for each call and upload that succeeded */
  onDone?(c: HttpContext, caller: Caller, method: string): void
  /** called for each request or call that was refused for want of a scope */
  onForbidden?(c: HttpContext, method: string): void
  /** absent where nothing is counted */
  readonly meter?: Meter
  /** fires when the gateway stops */
  readonly stopSignal: AbortSignal
  /** fires when the gateway begins to stop: what only waits for news ends then, running calls go on */
  readonly drainSignal: AbortSignal
}

/** Ways in which callers of a route may sign in. */
interface SignInOptions {
  /** HTTP Basic is accepted, for GET alone */
  readonly allowsBasic?: boolean
}

/** Authenticates the caller of a request. @throws AppError UNAUTHENTICATED or RATE_LIMITED */
export async function signIn<C>(
  c: HttpContext,
  deps: CallDeps<C>,
  { allowsBasic = false }: SignInOptions = {},
): Promise<Caller> {
  c.set('acceptsBasic', allowsBasic)
  c.set('isSignInTried', true)
  try {
    const caller = await authenticate((name) => headerOf(c, name), deps.tokenHeader, deps.stores, allowsBasic)
    c.set('caller', caller)
    if (c.env?.incoming !== undefined) noteSignIn(c.env.incoming.socket)
    return caller
  } catch (error) {
    throw isAppError(error) ? await refusedSignIn(c, deps, error) : error
  }
}

/**
 * Counts a refused sign-in. Right credentials are never refused here: only failures are slowed down, and one
 * without any credentials is a request of a stranger, which has its own allowance.
 *
 * @returns the error for the caller
 */
async function refusedSignIn<C>(c: HttpContext, deps: CallDeps<C>, error: AppError): Promise<AppError> {
  deps.meter?.signInFailed()
  if (!hasCredentials(c, deps.tokenHeader)) {
    deps.onSignInFailure(c, false)
    return error
  }
  const keyId =
    headerOf(c, deps.tokenHeader) === undefined ? (keyIdOf((name) => headerOf(c, name)) ?? '') : null
  const { retryAfterS, isFirstBeyond } = await deps.limiter.countFailure(addressOf(c), keyId)
  if (retryAfterS === undefined || isFirstBeyond) deps.onSignInFailure(c, isFirstBeyond)
  return retryAfterS === undefined ? error : tooManyFailures(retryAfterS)
}

/**
 * Signs a caller in, requires a scope and charges one call: for routes that are not JSON-RPC.
 *
 * @param other scope that is enough, too
 * @throws AppError UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED
 */
export async function admit<C>(
  c: HttpContext,
  deps: CallDeps<C>,
  scope: Scope,
  { other, ...options }: SignInOptions & { readonly other?: Scope } = {},
): Promise<Caller> {
  const caller = await signIn(c, deps, options)
  if (other === undefined || !isAllowed(caller.scopes, other)) requireScope(caller, scope)
  await deps.limiter.charge(caller.keyId, addressOf(c), 1)
  return caller
}

/** Makes the dispatch of the calls in one request. */
export function dispatchOf<C>(c: HttpContext, api: Api<C>, caller: Caller, deps: CallDeps<C>): Dispatch<C> {
  const requestId = c.get('requestId')
  let signal: AbortSignal | undefined
  const call: Call = {
    caller,
    requestId,
    noteSearchMs: (ms) => c.set('searchMs', (c.get('searchMs') ?? 0) + ms),
    endSignal() {
      signal ??= endSignal(c, deps)
      return signal
    },
  }
  return {
    api,
    context: deps.contextOf(call),
    requestId,
    maxBatch: deps.maxBatch,
    maxDepth: deps.maxDepth,
    discover: () => deps.discover(api),
    pathOf: deps.pathOf,
    mayCall: (scope) => isAllowed(caller.scopes, scope),
    charge: (calls) => deps.limiter.charge(caller.keyId, addressOf(c), calls),
    admitStream: streamAdmission(c, deps, caller),
    onFault: (method, error) => deps.onFault(requestId, method, error),
    onCall(method, outcome, ms) {
      deps.meter?.call(method, outcome, ms)
      if (outcome === 'ok') deps.onDone?.(c, caller, method)
      if (outcome !== 'FORBIDDEN') return
      c.set('isForbiddenNoted', true)
      deps.onForbidden?.(c, method)
    },
  }
}

/** Makes a signal that fires when the caller hangs up or the gateway stops. */
export function endSignal<C>(c: HttpContext, { stopSignal }: CallDeps<C>): AbortSignal {
  return requestSignal(c, stopSignal)
}

/** Makes a signal for an answer that only waits for news: it fires when the caller hangs up or the gateway begins to stop. */
export function waitSignal<C>(c: HttpContext, { drainSignal }: CallDeps<C>): AbortSignal {
  return requestSignal(c, drainSignal)
}

/** Options of an answer on this connection, made when the calls are over. */
export function streamOptions<C>(c: HttpContext, method: string, deps: CallDeps<C>): AnswerOptions {
  const requestId = c.get('requestId')
  return {
    requestId,
    searchMs: c.get('searchMs'),
    writeIdleMs: deps.writeIdleMs,
    compression: deps.compressions?.asked(headerOf(c, 'accept-encoding')),
    onFault: (error) => deps.onFault(requestId, method, error),
    onHangUp: () => deps.onHangUp(requestId, method),
    breakOff: () => c.env?.outgoing?.destroy(),
    holdText: (bytes) => deps.budget.note(c.get('caller')?.keyId ?? addressOf(c), bytes),
  }
}

/**
 * Runs a handler and turns what it throws into a refusal. What is no `AppError`, or has a cause, is reported
 * as a fault, except that the caller hung up.
 *
 * @param method name of the route in the log
 */
export async function refusingFaults<C>(
  c: HttpContext,
  deps: CallDeps<C>,
  method: string,
  answer: () => Promise<Response>,
  refuse: (error: unknown, requestId: string) => Response = refusalResponse,
): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    const requestId = c.get('requestId')
    const isFault = !isAppError(error) || (error.cause !== undefined && error.errorName !== 'CANCELLED')
    if (isFault) deps.onFault(requestId, method, error)
    const isForbidden = isAppError(error) && error.errorName === 'FORBIDDEN'
    if (isForbidden && c.get('isForbiddenNoted') !== true) deps.onForbidden?.(c, method)
    return refuse(error, requestId)
  }
}
