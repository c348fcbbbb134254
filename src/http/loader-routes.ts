import type { Hono } from 'hono'
import { AppError, isAppError } from '../errors.js'
import { type Answer, type Api, type Dispatch, dispatch } from '../rpc/dispatch.js'
import { jsonResponse, refusalResponse } from './answer.js'
import type { HttpContext, HttpEnv } from './env.js'
import { type BodyLimits, bodyChunks } from './read-body.js'
import { refuseOtherMethods } from './routes.js'
import { type BodyAnswerer, callOf, type RpcDeps, requireScope, signIn, streamOptions } from './rpc-routes.js'
import { spoolBody } from './spool.js'

/** Media types of newline-delimited features, and of RFC 8142 sequences; `gzip` may be the type or the encoding. */
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

export interface StreamRequest {
  dataName: string
  /** as sent; the loader checks it */
  ifExists: string | undefined
  isGzip: boolean
  chunks: AsyncIterable<Uint8Array>
  signal: AbortSignal
}

export interface LoaderRouteDeps<C> {
  rpc: RpcDeps<C>
  api: Api<C>
  bodyIdleMs: number
  /** loads the features of a stream; the result is the counters */
  receiveStream(request: StreamRequest): Promise<unknown>
}

/**
 * Answers calls whose bodies may be large: up to `inlineBytes` like any other, more through a file that
 * `answerFile` reads and this function removes.
 */
export function spoolingAnswerer<C>(
  limits: BodyLimits,
  inlineBytes: number,
  tempDir: string,
  answerFile: (file: string, call: Dispatch<C>) => Promise<Answer>,
  removeFile: (file: string) => Promise<void>,
): BodyAnswerer<C> {
  return async (c, call) => {
    const body = await spoolBody(c, limits, inlineBytes, tempDir)
    if ('bytes' in body) return await dispatch(body.bytes, call)
    try {
      return await answerFile(body.file, call)
    } finally {
      await removeFile(body.file)
    }
  }
}

/** `POST /api/v1/dataloaderapi/stream/<data_name>?if_exists=…`: features of any number, in constant memory. */
export function addStreamRoute<C>(app: Hono<HttpEnv>, deps: LoaderRouteDeps<C>): void {
  const path = '/api/v1/dataloaderapi/stream/:data_name'
  app.post(path, async (c) => {
    const requestId = c.get('requestId')
    c.set('countedAs', 'dataloader stream')
    try {
      return await answerStream(c, deps)
    } catch (error) {
      if (!isAppError(error) || error.cause !== undefined) deps.rpc.onFault(requestId, 'stream', error)
      return refusalResponse(error, requestId)
    }
  })
  refuseOtherMethods(app, path, 'POST')
}

async function answerStream<C>(c: HttpContext, deps: LoaderRouteDeps<C>): Promise<Response> {
  const caller = await signIn(c, deps.rpc)
  const call = callOf(c, deps.api, caller, deps.rpc)
  requireScope(call, 'loader:write')
  await call.charge(1)
  const counters = await deps.receiveStream({
    dataName: c.req.param('data_name') ?? '',
    ifExists: c.req.query('if_exists'),
    isGzip: isGzip(c),
    chunks: bodyChunks(c, { maxBytes: Number.MAX_SAFE_INTEGER, idleMs: deps.bodyIdleMs }),
    signal: AbortSignal.any([c.req.raw.signal, deps.rpc.stopSignal]),
  })
  return jsonResponse(JSON.stringify(counters), streamOptions(c, 'stream', deps.rpc))
}

/** @throws AppError UNSUPPORTED_MEDIA_TYPE */
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
