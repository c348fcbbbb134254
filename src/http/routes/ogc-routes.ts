import type { Hono } from 'hono'
import { isAllowed } from '../../auth/caller.js'
import { AppError, ERRORS, toAppError } from '../../errors.js'
import { discard, isWhole, type Piece, resultPiece, whenOver } from '../../rpc/pieces.js'
import { streamed } from '../../rpc/result.js'
import { contentResponse, type HeaderRecord, refusalHeaders, respond } from '../answer.js'
import { type CallDeps, endSignal, refusingFaults, signIn, streamOptions } from '../calls.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { takeStream } from '../memory.js'

interface OgcRequest {
  segments: readonly string[]
  query: URLSearchParams
  accept: string | undefined
  baseUrl: string
  signal: AbortSignal
  may: { tables: boolean; datasets: boolean }
  /** who asks: a key, or an address where no key is needed */
  owner: string
}

interface OgcAnswer<Body = string | AsyncIterable<string>> {
  readonly type: string
  readonly body: Body
  readonly headers: Readonly<Record<string, string>>
}

interface OgcRouteDeps<C> {
  readonly calls: CallDeps<C>
  /** true when no key is needed */
  readonly isOpen: boolean
  /** address at which clients reach the gateway; undefined for the one that the request names */
  readonly publicUrl: string | undefined
  /** @throws AppError */
  answer(request: OgcRequest): Promise<OgcAnswer>
  refuse(
    request: Pick<OgcRequest, 'query' | 'accept' | 'baseUrl'>,
    fault: { code: string; description: string; requestId: string },
  ): OgcAnswer<string>
}

const ROOT = '/ogc'
const ALLOWED = 'GET, HEAD, OPTIONS'

/** Adds every path below `/ogc`, for reading alone. */
export function addOgcRoutes<C>(app: Hono<HttpEnv>, deps: OgcRouteDeps<C>): void {
  for (const path of [ROOT, `${ROOT}/*`]) {
    app.get(path, (c) => answerRequest(c, deps))
    app.options(path, (c) => respond(c.get('requestId'), 204, { Allow: ALLOWED }, null))
    app.all(path, (c) => {
      const message = `Found the HTTP method ${c.req.method}, expected GET`
      const error = new AppError('METHOD_NOT_ALLOWED', {}, { message })
      return refusalOf(c, deps, error, { Allow: ALLOWED })
    })
  }
}

async function answerRequest<C>(c: HttpContext, deps: OgcRouteDeps<C>): Promise<Response> {
  c.set('countedAs', 'ogc')
  const answer = async () => {
    const { keyId, ...may } = await permissions(c, deps)
    const { segments, query } = readUrl(c)
    const { type, body, headers } = await deps.answer({
      segments,
      query,
      may,
      owner: keyId,
      accept: c.req.header('accept'),
      baseUrl: baseUrlOf(c, deps),
      signal: endSignal(c, deps.calls),
    })
    // reads the first part before the status is sent, so that an early fault has its own status
    const piece = typeof body === 'string' ? body : await heldPiece(c, deps.calls, keyId, body)
    const isHead = c.req.method === 'HEAD'
    if (isHead) await discard(piece)
    const options = streamOptions(c, ROOT, deps.calls)
    return await contentResponse(200, { ...headers, 'Content-Type': type }, isHead ? '' : piece, options)
  }
  const refuse = (error: unknown) => refusalOf(c, deps, toAppError(error))
  return await refusingFaults(c, deps.calls, c.req.path, answer, refuse)
}

/** Begins a page, which holds memory until it is sent. @throws AppError BUSY, and the faults of the page */
async function heldPiece<C>(
  c: HttpContext,
  deps: CallDeps<C>,
  keyId: string,
  body: AsyncIterable<string>,
): Promise<Piece> {
  const { release } = await takeStream(c, deps, { keyId })
  try {
    const piece = await resultPiece(streamed(body))
    return isWhole(piece) ? piece : whenOver(piece, release)
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Returns what a request may read, and who holds its memory: a key, or an address where no key is needed.
 *
 * @throws AppError UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED
 */
async function permissions<C>(
  c: HttpContext,
  { calls, isOpen }: OgcRouteDeps<C>,
): Promise<OgcRequest['may'] & { keyId: string }> {
  if (isOpen) {
    await calls.limiter.charge('open', addressOf(c), 1)
    return { keyId: addressOf(c), tables: true, datasets: true }
  }
  const caller = await signIn(c, calls, { allowsBasic: true })
  await calls.limiter.charge(caller.keyId, addressOf(c), 1)
  const may = {
    keyId: caller.keyId,
    tables: isAllowed(caller.scopes, 'loader:read'),
    datasets: isAllowed(caller.scopes, 'dataset:read'),
  }
  if (may.tables || may.datasets) return may
  const message = 'The key lacks the scopes loader:read and dataset:read'
  throw new AppError('FORBIDDEN', { scope: 'loader:read' }, { message })
}

/** Reads the path below `/ogc` and the query. @throws AppError BAD_HTTP for a path that is not UTF-8 */
function readUrl(c: HttpContext): { segments: string[]; query: URLSearchParams } {
  const url = new URL(c.req.url)
  try {
    const segments = url.pathname
      .slice(ROOT.length)
      .split('/')
      .filter((part) => part !== '')
    return { segments: segments.map(decodeURIComponent), query: url.searchParams }
  } catch {
    throw new AppError('BAD_HTTP', {}, { message: 'The path has a % that does not begin an escape of UTF-8' })
  }
}

function baseUrlOf<C>(c: HttpContext, { publicUrl }: OgcRouteDeps<C>): string {
  return `${publicUrl ?? new URL(c.req.url).origin}${ROOT}`
}

/** Makes a refusal in the standard's form: a code and a description. */
function refusalOf<C>(
  c: HttpContext,
  deps: OgcRouteDeps<C>,
  error: AppError,
  more: HeaderRecord = {},
): Response {
  const requestId = c.get('requestId')
  const request = {
    query: new URL(c.req.url).searchParams,
    accept: c.req.header('accept'),
    baseUrl: baseUrlOf(c, deps),
  }
  const fault = { code: error.errorName, description: error.message, requestId }
  const { type, body, headers } = deps.refuse(request, fault)
  const all = { ...headers, ...refusalHeaders(error, type), ...more }
  return respond(requestId, ERRORS[error.errorName].status, all, body)
}
