import type { Hono } from 'hono'
import { requireScope } from '../../auth/caller.js'
import { AppError, invalidParams } from '../../errors.js'
import { type Answer, type Dispatch, dispatch } from '../../rpc/dispatch.js'
import type { Piece } from '../../rpc/pieces.js'
import { shorten } from '../../rpc/shorten.js'
import { jsonResponse } from '../answer.js'
import { type CallDeps, endSignal, refusingFaults, signIn, streamOptions } from '../calls.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { bodyBytes, STREAM_BYTES, takeGrowing } from '../memory.js'
import { type BodyLimits, bodyChunks } from '../read-body.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { type SpoolOptions, spoolBody } from '../spool.js'
import { answerParamsText, type BodyAnswerer } from './rpc-routes.js'

/**
 * Media types of newline-delimited features and of RFC 8142 sequences. Gzip may be the type or the encoding.
 */
const STREAM_TYPES = new Set([
  '',
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/json-seq',
  'application/geo+json-seq',
  'application/gzip',
  'application/octet-stream',
])

/** Scope of the methods whose bodies may be large. */
const LARGE_SCOPE = 'loader:write'
/** Memory of a stream: a batch that is read and one that is stored. */
const STREAM_BATCH_BYTES = 4 * STREAM_BYTES

/** Query keys of the stream route. */
const STREAM_QUERY: readonly string[] = ['if_exists']

export interface StreamRequest {
  dataName: string
  /** as sent, not checked */
  ifExists: string | undefined
  isGzip: boolean
  chunks: AsyncIterable<Uint8Array>
  signal: AbortSignal
  /** key that sends it */
  owner: string
  /** waits until so many bytes may be held. @throws AppError BUSY, CANCELLED */
  hold(bytes: number): Promise<void>
}

interface StreamRouteDeps<C> {
  calls: CallDeps<C>
  bodyIdleMs: number
  /** adds the features of a stream to a table. @returns the counters */
  receiveStream(request: StreamRequest): Promise<unknown>
}

/** Answers calls whose body is in a file. */
interface FileAnswerer<C> {
  answerRpc(file: string, call: Dispatch<C>): Promise<Answer>
  /** answers params alone. The file is removed when this returns: a streamed result must not read it later */
  answerParams(file: string, method: string, call: Dispatch<C>): Promise<Piece>
  remove(file: string): Promise<void>
}

/**
 * Makes the answerer of a path with large bodies: up to `inlineBytes` are held in memory, more goes to a file
 * in `tempDir`, which is removed after the answer. Only who may write tables may send that much.
 */
export function spoolingAnswerer<C>(
  limits: BodyLimits,
  spool: SpoolOptions,
  files: FileAnswerer<C>,
): BodyAnswerer<C> {
  const { inlineBytes } = spool
  const answer = async <T>(
    c: HttpContext,
    call: Dispatch<C>,
    ofBytes: (bytes: Uint8Array) => Promise<T>,
    ofFile: (file: string) => Promise<T>,
  ): Promise<T> => {
    if (!call.mayCall(LARGE_SCOPE) && bodyBytes(c) > inlineBytes) throw largeForbidden(inlineBytes)
    const body = await spoolBody(c, limits, spool)
    if ('bytes' in body) return await ofBytes(body.bytes)
    try {
      return await ofFile(body.file)
    } finally {
      await files.remove(body.file)
    }
  }
  return {
    inlineBytes,
    answerRpc: (c, call) =>
      answer(
        c,
        call,
        (bytes) => dispatch(bytes, call),
        (file) => files.answerRpc(file, call),
      ),
    answerParams: (c, method, call) =>
      answer(
        c,
        call,
        (bytes) => answerParamsText(bytes, method, call),
        (file) => files.answerParams(file, method, call),
      ),
  }
}

/**
 * Adds `POST /api/v1/dataloaderapi/stream/<data_name>?if_exists=…`: any number of features, in constant
 * memory.
 */
export function addStreamRoute<C>(app: Hono<HttpEnv>, deps: StreamRouteDeps<C>): void {
  const path = '/api/v1/dataloaderapi/stream/:data_name'
  app.post(path, (c) => {
    c.set('countedAs', 'dataloader stream')
    return refusingFaults(c, deps.calls, 'stream', () => answerStream(c, c.req.param('data_name'), deps))
  })
  refuseOtherMethods(app, path, 'POST')
}

async function answerStream<C>(
  c: HttpContext,
  dataName: string,
  deps: StreamRouteDeps<C>,
): Promise<Response> {
  const { calls } = deps
  const caller = await signIn(c, calls)
  requireScope(caller, 'loader:write')
  requireKnownQuery(c.req.queries())
  await calls.limiter.charge(caller.keyId, addressOf(c), 1)
  const isZipped = isGzip(c)
  const share = await takeGrowing(c, calls, caller, STREAM_BATCH_BYTES)
  try {
    const counters = await deps.receiveStream({
      dataName,
      ifExists: c.req.query('if_exists'),
      isGzip: isZipped,
      chunks: bodyChunks(c, { maxBytes: Number.MAX_SAFE_INTEGER, idleMs: deps.bodyIdleMs }),
      signal: endSignal(c, calls),
      owner: caller.keyId,
      hold: (bytes) => share.hold(bytes),
    })
    return await jsonResponse(JSON.stringify(counters), streamOptions(c, 'stream', calls))
  } finally {
    share.release()
  }
}

/**
 * Refuses unknown keys: a mistyped `if_exist=override` would skip records without notice.
 *
 * @throws AppError INVALID_PARAMS
 */
function requireKnownQuery(query: Record<string, string[]>): void {
  const expected = `expected ${STREAM_QUERY.join(', ')}`
  const faults = Object.entries(query).flatMap(([key, values]) => {
    const name = shorten(key, 40)
    if (!STREAM_QUERY.includes(key))
      return [{ path: `$.${name}`, message: `unknown query key ${JSON.stringify(name)}, ${expected}` }]
    return values.length > 1
      ? [{ path: `$.${name}`, message: `found ${name} ${values.length} times, expected it once` }]
      : []
  })
  if (faults.length > 0) throw invalidParams(faults)
}

/** True when the body is said to be gzip. @throws AppError UNSUPPORTED_MEDIA_TYPE */
function isGzip(c: HttpContext): boolean {
  const type = (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const encoding = (c.req.header('content-encoding') ?? 'identity').trim().toLowerCase()
  if (!STREAM_TYPES.has(type)) {
    const message = `Content-Type: found ${type.slice(0, 100)}, expected application/x-ndjson or application/geo+json-seq`
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', {}, { message })
  }
  if (encoding !== 'identity' && encoding !== 'gzip') {
    const message = `Content-Encoding: found ${encoding.slice(0, 100)}, expected gzip or none`
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', {}, { message })
  }
  return encoding === 'gzip' || type === 'application/gzip'
}

function largeForbidden(inlineBytes: number): AppError {
  const message = `The key lacks the scope ${LARGE_SCOPE}, which bodies of more than ${inlineBytes} bytes need here`
  return new AppError('FORBIDDEN', { scope: LARGE_SCOPE }, { message })
}
