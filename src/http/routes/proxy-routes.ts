import type { Hono } from 'hono'
import { requireScope } from '../../auth/caller.js'
import type { Scope } from '../../rpc/define-method.js'
import { whenOver } from '../../rpc/pieces.js'
import { respond } from '../answer.js'
import { byteStream } from '../bodies/body-stream.js'
import type { Share } from '../byte-budget.js'
import { type CallDeps, endSignal, refusingFaults, signIn, streamOptions } from '../calls.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { takeStream } from '../memory.js'
import { type BodyLimits, bodyChunks, requireJson } from '../read-body.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** A request that is forwarded to a backend. */
export interface ForwardedRequest {
  /** path below the backend's address: empty, or `/call/<method>` */
  readonly below: string
  readonly headers: Record<string, string>
  readonly body: AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

/** Answer of a backend, up to its headers. */
export interface BackendAnswer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  /** reads the body, once. @throws AppError when it breaks off, stalls, or is too large */
  chunks(): AsyncIterable<Uint8Array>
  /** releases the connection without reading the body */
  discard(): Promise<void>
}

interface ProxyDeps<C> {
  readonly calls: CallDeps<C>
  readonly path: string
  /** scope of every request, as the methods in them are not read */
  readonly scope: Scope
  /** first word of the session headers */
  readonly headerPrefix: string
  readonly bodyLimits: BodyLimits
  /** @throws AppError BACKEND_UNREACHABLE, BACKEND_TIMEOUT, BAD_BACKEND_ANSWER, CANCELLED */
  send(request: ForwardedRequest): Promise<BackendAnswer>
}

/** Forwards the requests of a path, and of its REST form, to a backend. */
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
  const { calls, path, scope, bodyLimits } = deps
  const failure = new AbortController()
  const signal = AbortSignal.any([endSignal(c, calls), failure.signal])
  return await refusingFaults(c, calls, path, async () => {
    try {
      const caller = await signIn(c, calls)
      requireJson(c)
      requireScope(caller, scope)
      await calls.limiter.charge(caller.keyId, addressOf(c), 1)
      const headers = forwardedHeaders(c, deps.headerPrefix, caller.sessionId)
      const share = await takeStream(c, calls, caller)
      try {
        const answer = await sendBody(c, bodyLimits, (body) => deps.send({ below, headers, body, signal }))
        calls.onDone?.(c, caller, 'dataproc-forwarded')
        return await answerOf(c, holding(answer, share), calls, path)
      } catch (error) {
        share.release()
        throw error
      }
    } catch (error) {
      failure.abort() // ends the request to the backend
      throw error
    }
  })
}

/** Returns the answer, whose memory is given back with its last chunk, or when it is discarded. */
function holding(answer: BackendAnswer, share: Share): BackendAnswer {
  return {
    ...answer,
    chunks: () => whenOver(answer.chunks()[Symbol.asyncIterator](), share.release),
    discard: () => answer.discard().finally(share.release),
  }
}

/**
 * Sends a body. A fault of the caller's body is thrown as itself and not as the failure of the request it
 * caused.
 */
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

/** Headers that concern this connection or the keys of this gateway. */
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
 * Headers for the backend: the caller's, without those above, and the session id. A caller cannot set the
 * session id: names are compared with `_` as `-`, since some backends take `Svc_Session_Id` for the same
 * header.
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

/** Headers of a backend's answer that are passed on; others concern its connection or its own keys. */
const PASSED_BACK = ['content-type', 'content-encoding', 'content-language', 'retry-after']

async function answerOf<C>(
  c: HttpContext,
  answer: BackendAnswer,
  calls: CallDeps<C>,
  path: string,
): Promise<Response> {
  const headers: Record<string, string> = {}
  for (const name of PASSED_BACK) {
    const value = answer.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  if (answer.status === 204) {
    await answer.discard()
    return respond(c.get('requestId'), 204, headers, null)
  }
  // the backend is read as fast as the caller reads; a caller that stops reading is cut off
  const body = byteStream(answer.chunks()[Symbol.asyncIterator](), streamOptions(c, path, calls))
  return respond(c.get('requestId'), answer.status, headers, body)
}
