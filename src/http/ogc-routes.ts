import type { Hono } from 'hono'
import { type Caller, isAllowed } from '../auth/caller.js'
import { AppError, ERRORS, isAppError } from '../errors.js'
import { discard, resultPiece } from '../rpc/pieces.js'
import { streamed } from '../rpc/result.js'
import { contentResponse, refusalHeaders } from './answer.js'
import { addressOf, type HttpContext, type HttpEnv } from './env.js'
import { type RpcDeps, signIn, streamOptions } from './rpc-routes.js'

interface OgcRequest {
  segments: readonly string[]
  query: URLSearchParams
  accept: string | undefined
  baseUrl: string
  signal: AbortSignal
  may: { tables: boolean; datasets: boolean }
}

interface OgcAnswer {
  readonly type: string
  readonly body: string | AsyncGenerator<string>
  readonly headers: Readonly<Record<string, string>>
}

export interface OgcRouteDeps<C> {
  readonly rpc: RpcDeps<C>
  /** nobody needs a key */
  readonly isOpen: boolean
  /** address under which clients reach the gateway; undefined for the one that the request names */
  readonly publicUrl: string | undefined
  /** @throws AppError */
  answer(request: OgcRequest): Promise<OgcAnswer>
  refuse(
    request: Pick<OgcRequest, 'query' | 'accept' | 'baseUrl'>,
    fault: { code: string; description: string; requestId: string },
  ): OgcAnswer
}

const ROOT = '/ogc'
const ALLOWED = 'GET, HEAD, OPTIONS'

/** Everything below `/ogc`. Reading is all that it does. */
export function addOgcRoutes<C>(app: Hono<HttpEnv>, deps: OgcRouteDeps<C>): void {
  for (const path of [ROOT, `${ROOT}/*`]) {
    app.get(path, (c) => respond(c, deps))
    app.options(path, () => new Response(null, { status: 204, headers: { Allow: ALLOWED } }))
    app.all(path, (c) => {
      const message = `Found ${c.req.method}, expected GET`
      const response = refusalOf(c, deps, new AppError('METHOD_NOT_ALLOWED', {}, { message }))
      response.headers.set('Allow', ALLOWED)
      return response
    })
  }
}

async function respond<C>(c: HttpContext, deps: OgcRouteDeps<C>): Promise<Response> {
  c.set('countedAs', 'ogc')
  try {
    const may = await permissions(c, deps)
    const { segments, query } = readUrl(c)
    const { type, body, headers } = await deps.answer({
      ...{ segments, query, may },
      accept: c.req.header('accept'),
      baseUrl: baseUrlOf(c, deps),
      signal: AbortSignal.any([c.req.raw.signal, deps.rpc.stopSignal]),
    })
    // the first part is read before the status goes out
    const piece = typeof body === 'string' ? body : await resultPiece(streamed(body))
    const isHead = c.req.method === 'HEAD'
    if (isHead) await discard(piece) // nobody would read it to its end
    const options = streamOptions(c, ROOT, deps.rpc)
    return contentResponse(200, { ...headers, 'Content-Type': type }, isHead ? '' : piece, options)
  } catch (error) {
    if (!isAppError(error) || error.cause !== undefined)
      deps.rpc.onFault(c.get('requestId'), c.req.path, error)
    return refusalOf(c, deps, isAppError(error) ? error : new AppError('INTERNAL'))
  }
}

/** @throws AppError UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED */
async function permissions<C>(c: HttpContext, { rpc, isOpen }: OgcRouteDeps<C>): Promise<OgcRequest['may']> {
  if (isOpen) {
    await rpc.limiter.charge('open', addressOf(c), 1)
    return { tables: true, datasets: true }
  }
  const caller: Caller = await signIn(c, rpc)
  await rpc.limiter.charge(caller.keyId, addressOf(c), 1)
  const may = {
    tables: isAllowed(caller.scopes, 'loader:read'),
    datasets: isAllowed(caller.scopes, 'dataset:read'),
  }
  if (may.tables || may.datasets) return may
  const message = 'The key lacks the scopes loader:read and dataset:read'
  throw new AppError('FORBIDDEN', { scope: 'loader:read' }, { message })
}

/** @throws AppError BAD_HTTP for a path that is no UTF-8 */
function readUrl(c: HttpContext): { segments: string[]; query: URLSearchParams } {
  const url = new URL(c.req.url)
  try {
    const segments = url.pathname
      .slice(ROOT.length)
      .split('/')
      .filter((part) => part !== '')
    return { segments: segments.map(decodeURIComponent), query: url.searchParams }
  } catch {
    throw new AppError('BAD_HTTP', {}, { message: 'The path holds a % that is not followed by UTF-8 in hex' })
  }
}

function baseUrlOf<C>(c: HttpContext, { publicUrl }: OgcRouteDeps<C>): string {
  return `${publicUrl ?? new URL(c.req.url).origin}${ROOT}`
}

/** The standard's own form of a refusal: a code, and a description of it. */
function refusalOf<C>(c: HttpContext, deps: OgcRouteDeps<C>, error: AppError): Response {
  const requestId = c.get('requestId')
  const request = {
    query: new URL(c.req.url).searchParams,
    accept: c.req.header('accept'),
    baseUrl: baseUrlOf(c, deps),
  }
  const fault = { code: error.errorName, description: error.message, requestId }
  const { type, body, headers } = deps.refuse(request, fault)
  return new Response(body as string, {
    status: ERRORS[error.errorName].status,
    headers: { ...headers, ...refusalHeaders(error, requestId, type) },
  })
}
