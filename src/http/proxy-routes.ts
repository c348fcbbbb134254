import type { Hono } from 'hono'
import { isAllowed } from '../auth/caller.js'
import { AppError, isAppError } from '../errors.js'
import type { Scope } from '../rpc/define-method.js'
import { headersOf, refusalResponse } from './answer.js'
import { byteStream } from './body-stream.js'
import { addressOf, type HttpContext, type HttpEnv } from './env.js'
import { type BodyLimits, bodyChunks, requireJson } from './read-body.js'
import { refuseOtherMethods } from './routes.js'
import { type RpcDeps, signIn, streamOptions } from './rpc-routes.js'

/** A request on its way to a backend. */
export interface ForwardedRequest {
  /** what follows the backend's own address: empty, or `/call/<method>` */
  readonly below: string
  readonly headers: Record<string, string>
  readonly body: AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

/** The beginning of a backend's answer. */
export interface BackendAnswer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  /** the body as it comes, read once. @throws AppError when it breaks off, stalls, or is too large */
  chunks(): AsyncIterable<Uint8Array>
  /** lets the connection go without reading */
  discard(): Promise<void>
}

export interface ProxyDeps<C> {
  readonly rpc: RpcDeps<C>
  readonly path: string
  /** what a key needs: requests are not read, so it is the same for all of them */
  readonly scope: Scope
  /** first word of the session headers */
  readonly headerPrefix: string
  readonly bodyLimits: BodyLimits
  /** @throws AppError BACKEND_UNREACHABLE, BACKEND_TIMEOUT, BAD_BACKEND_ANSWER, CANCELLED */
  send(request: ForwardedRequest): Promise<BackendAnswer>
}

/** Sends the requests of a path, and of its REST form, on to a backend. */
export function addProxyRoutes<C>(app: Hono<HttpEnv>, deps: ProxyDeps<C>): void {
  const { path } = deps
  app.post(path, (c) => forward(c, '', deps))
  app.post(`${path}/call/:method`, (c) =>
    forward(c, `/call/${encodeURIComponent(c.req.param('method'))}`, deps),
  )
  refuseOtherMethods(app, path, 'POST')
  refuseOtherMethods(app, `${path}/call/:method`, 'POST')
}

async function forward<C>(c: HttpContext, below: string, deps: ProxyDeps<C>): Promise<Response> {
  const { rpc, path, scope, bodyLimits } = deps
  const requestId = c.get('requestId')
  // the caller's hang-up, the gateway's stop, and ours when the answer is not read to its end
  const given = new AbortController()
  const signal = AbortSignal.any([c.req.raw.signal, rpc.stopSignal, given.signal])
  try {
    const caller = await signIn(c, rpc)
    requireJson(c)
    if (!isAllowed(caller.scopes, scope))
      throw new AppError('FORBIDDEN', { scope }, { message: `The key lacks the scope ${scope}` })
    await rpc.limiter.charge(caller.keyId, addressOf(c), 1)
    const headers = forwardedHeaders(c, deps.headerPrefix, caller.sessionId)
    const answer = await sendBody(c, bodyLimits, (body) => deps.send({ below, headers, body, signal }))
    return await answerOf(c, answer, rpc, path)
  } catch (error) {
    given.abort()
    if (!isAppError(error) || error.cause !== undefined) rpc.onFault(requestId, path, error)
    return refusalResponse(error, requestId)
  }
}

/** A fault of the caller's own body is told as that, and not as what the backend made of it. */
async function sendBody<T>(
  c: HttpContext,
  limits: BodyLimits,
  send: (body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  let fault: { error: unknown } | undefined
  async function* watched() {
    try {
      yield* bodyChunks(c, limits)
    } catch (error) {
      fault = { error }
      throw error
    }
  }
  try {
    return await send(watched())
  } catch (error) {
    throw fault === undefined ? error : fault.error
  }
}

/** About this connection and this gateway's keys alone. */
const NEVER_FORWARDED = new Set([
  'accept-encoding',
  'apikey',
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'secret',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-real-ip',
  'x-request-id',
])

/**
 * The caller's headers without those that are none of the backend's business. Whoever says which session it is, is us alone:
 * some backends take `Svc_Session_Id` for the same header, so underscores do not help a caller.
 */
function forwardedHeaders(c: HttpContext, prefix: string, sessionId: string | null): Record<string, string> {
  const ours = `${prefix}-session-`.toLowerCase()
  const named = (c.req.header('connection') ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(c.req.header())) {
    const plain = name.toLowerCase().replaceAll('_', '-')
    const isOurs = plain.startsWith(ours) || plain.startsWith('x-forwarded-')
    if (!isOurs && !NEVER_FORWARDED.has(plain) && !named.includes(name.toLowerCase())) headers[name] = value
  }
  const length = c.req.header('content-length')
  if (length !== undefined && c.req.header('transfer-encoding') === undefined)
    headers['content-length'] = length
  headers['x-request-id'] = c.get('requestId')
  if (sessionId !== null) headers[`${prefix}-Session-Id`] = sessionId
  return headers
}

/** Headers of a backend's answer that a caller gets; the rest is about another connection, or about the backend's own keys. */
const PASSED_BACK = ['content-type', 'content-encoding', 'content-language', 'retry-after']

async function answerOf<C>(
  c: HttpContext,
  answer: BackendAnswer,
  rpc: RpcDeps<C>,
  path: string,
): Promise<Response> {
  const headers = headersOf(c.get('requestId'), null)
  for (const name of PASSED_BACK) {
    const value = answer.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  if (answer.status === 204) {
    await answer.discard()
    return new Response(null, { status: 204, headers })
  }
  // the backend is read as quickly as the caller reads; a caller that stops reading is cut off
  const body = byteStream(answer.chunks()[Symbol.asyncIterator](), streamOptions(c, path, rpc))
  return new Response(body, { status: answer.status, headers })
}
