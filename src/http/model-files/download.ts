import type { Hono } from 'hono'
import { AppError, isAppError } from '../../errors.js'
import type { Api } from '../../rpc/dispatch.js'
import { refusalResponse } from '../answer.js'
import { byteStream, type StreamOptions } from '../body-stream.js'
import { namesTag } from '../entity-tag.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../routes.js'
import { callOf, type RpcDeps, requireScope, signIn, streamOptions } from '../rpc-routes.js'

/** Bytes that can be sent: opened only when they will be. */
export interface Downloadable {
  /** hex */
  sha256: string
  sizeBytes: number
  /** half-open range. @throws AppError MODEL_DAMAGED when the bytes are not there */
  open(range: { start: number; end: number }): Promise<AsyncIterableIterator<Uint8Array>>
}

export const MODEL_FILE_PATH = '/api/v2/model_store/models/:model_id/file'

/** Route of `GET …/models/<model_id>/file`. */
export function addDownloadRoute<C>(
  app: Hono<HttpEnv>,
  api: Api<C>,
  deps: RpcDeps<C>,
  find: (modelId: string) => Promise<Downloadable>,
): void {
  app.get(MODEL_FILE_PATH, async (c) => {
    c.set('countedAs', 'model download')
    try {
      const caller = await signIn(c, deps)
      requireScope(callOf(c, api, caller, deps), 'model:read')
      await deps.limiter.charge(caller.keyId, addressOf(c), 1)
      const modelId = c.req.param('model_id')
      return await sendFile(c, modelId, await find(modelId), streamOptions(c, MODEL_FILE_PATH, deps))
    } catch (error) {
      if (!isAppError(error)) deps.onFault(c.get('requestId'), MODEL_FILE_PATH, error)
      return refusalResponse(error, c.get('requestId'))
    }
  })
  refuseOtherMethods(app, MODEL_FILE_PATH, 'GET, HEAD')
}

/**
 * The bytes, a part of them, or the news that the caller has them.
 *
 * @see RFC 9110 sections 13 and 14 (conditions and ranges), RFC 9530 (digests)
 */
async function sendFile(
  c: HttpContext,
  modelId: string,
  file: Downloadable,
  options: StreamOptions,
): Promise<Response> {
  const { sha256, sizeBytes } = file
  const etag = `"${sha256}"`
  const digest = `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`
  const headers: Record<string, string> = {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Repr-Digest': digest,
  }
  if (namesTag(c.req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers })
  const range = rangeOf(c, etag, sizeBytes)
  if (range === 'unsatisfiable') {
    const message = `Range: found ${c.req.header('range')?.slice(0, 100)}, expected a part of ${sizeBytes} bytes`
    const refusal = refusalResponse(new AppError('BAD_HTTP', { sizeBytes }, { message }), c.get('requestId'))
    refusal.headers.set('Content-Range', `bytes */${sizeBytes}`)
    return new Response(refusal.body, { status: 416, headers: refusal.headers })
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes }
  headers['Content-Type'] = 'application/octet-stream'
  headers['Content-Length'] = String(end - start)
  headers['Content-Disposition'] = `attachment; filename="${modelId}.dat"`
  if (range === undefined)
    headers['Content-Digest'] = digest // of a part it would have to be computed first
  else headers['Content-Range'] = `bytes ${start}-${end - 1}/${sizeBytes}`
  const status = range === undefined ? 200 : 206
  if (c.req.method === 'HEAD') return new Response(null, { status, headers })
  return new Response(byteStream(await file.open({ start, end }), options), { status, headers })
}

/** One range is served; several, an unknown unit, and one whose `If-Range` is stale get the whole. */
function rangeOf(
  c: HttpContext,
  etag: string,
  sizeBytes: number,
): { start: number; end: number } | undefined | 'unsatisfiable' {
  const match = /^bytes=(\d*)-(\d*)$/.exec(c.req.header('range')?.trim() ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return undefined
  const ifRange = c.req.header('if-range')
  if (ifRange !== undefined && ifRange !== etag) return undefined
  const [, first = '', last = ''] = match
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes)
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes }
  }
  const start = Number(first)
  const end = last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes)
  if (last !== '' && Number(last) < start) return undefined // not a range at all
  return start >= sizeBytes ? 'unsatisfiable' : { start, end }
}
