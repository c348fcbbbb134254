import type { Hono } from 'hono'
import { AppError, invalidParams, isAppError } from '../errors.js'
import { type Answer, type Api, type Dispatch, dispatch } from '../rpc/dispatch.js'
import type { Piece } from '../rpc/pieces.js'
import { shorten } from '../rpc/shorten.js'
import { jsonResponse, refusalResponse } from './answer.js'
import type { HttpContext, HttpEnv } from './env.js'
import { type BodyLimits, bodyChunks } from './read-body.js'
import { refuseOtherMethods } from './routes.js'
import {
  answerParamsText,
  type BodyAnswerer,
  callOf,
  type RpcDeps,
  requireScope,
  signIn,
  streamOptions,
} from './rpc-routes.js'
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

/** Query keys of the stream endpoint. */
const STREAM_QUERY: readonly string[] = ['if_exists']

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

/** Reads bodies that lie in files. */
export interface FileAnswerer<C> {
  answerRpc(file: string, call: Dispatch<C>): Promise<Answer>
  /** params alone; a method whose result is a stream must not read the file any more when this comes back */
  answerParams(file: string, method: string, call: Dispatch<C>): Promise<Piece>
  remove(file: string): Promise<void>
}

/**
 * Answers calls whose bodies may be large: up to `inlineBytes` like any other, more through a file that
 * `files` reads and this function has removed.
 */
export function spoolingAnswerer<C>(
  limits: BodyLimits,
  inlineBytes: number,
  tempDir: string,
  files: FileAnswerer<C>,
): BodyAnswerer<C> {
  const answer = async <T>(
    c: HttpContext,
    ofBytes: (bytes: Uint8Array) => Promise<T>,
    ofFile: (file: string) => Promise<T>,
  ): Promise<T> => {
    const body = await spoolBody(c, limits, inlineBytes, tempDir)
    if ('bytes' in body) return await ofBytes(body.bytes)
    try {
      return await ofFile(body.file)
    } finally {
      await files.remove(body.file)
    }
  }
  return {
    answerRpc: (c, call) =>
      answer(
        c,
        (bytes) => dispatch(bytes, call),
        (file) => files.answerRpc(file, call),
      ),
    answerParams: (c, method, call) =>
      answer(
        c,
        (bytes) => answerParamsText(bytes, method, call),
        (file) => files.answerParams(file, method, call),
      ),
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
  requireKnownQuery(c.req.queries())
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

/** A mistyped `if_exist=override` must not quietly skip records. @throws AppError INVALID_PARAMS */
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
