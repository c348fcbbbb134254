import type { Hono } from 'hono'
import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { whenOver } from '../../rpc/pieces.js'
import { refusalOfStatus, respond } from '../answer.js'
import { byteStream, type StreamOptions } from '../body-stream.js'
import type { Share } from '../byte-budget.js'
import { admit, type CallDeps, refusingFaults, streamOptions } from '../calls.js'
import { namesTag } from '../entity-tag.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { takeStream } from '../memory.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** A file that can be sent. */
export interface Downloadable {
  /** hex */
  sha256: string
  sizeBytes: number
  /**
   * opens the bytes from `start` up to `end`, without it.
   *
   * @throws AppError MODEL_DAMAGED when they are missing
   */
  open(range: { start: number; end: number }): Promise<AsyncIterableIterator<Uint8Array>>
}

/** A file for which a delta may be sent. */
export interface ModelDownload extends Downloadable {
  /**
   * Returns a delta to the first of these files that is stored here, digests in hex; undefined when there is
   * none, or it would save too little.
   */
  findDelta(bases: readonly string[]): Promise<(Downloadable & { base: string }) | undefined>
}

/** Memory of a file that is sent: a piece, and what the connection buffers. */
const SEND_BYTES = 256 * 1024

/** Media type of a delta. Its `Delta-Base` names the file that it is applied to. @see RFC 3229 */
const DELTA_MEDIA_TYPE = 'application/vnd.fieldgate.model-delta'
/** Files that a request may name. */
const MAX_BASES = 16

const MODEL_FILE_PATH = '/api/v2/model_store/models/:model_id/file'

/**
 * Adds `GET …/models/<model_id>/file`: the bytes of a model, whole or a range. With `?bases=` and digests of files
 * that the caller has, the answer may be a delta to one of them.
 *
 * @param find @throws AppError UNKNOWN_MODEL, MODEL_DAMAGED
 */
export function addDownloadRoute<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  find: (modelId: string) => Promise<ModelDownload>,
): void {
  app.get(MODEL_FILE_PATH, (c) => {
    c.set('countedAs', 'model download')
    return refusingFaults(c, deps, MODEL_FILE_PATH, async () => {
      const caller = await admit(c, deps, 'model:read')
      const modelId = c.req.param('model_id')
      const bases = basesOf(c)
      const whole = await find(modelId)
      const delta = bases.length === 0 ? undefined : await whole.findDelta(bases)
      const file = holding(delta ?? whole, () => takeStream(c, deps, caller, SEND_BYTES))
      const options = streamOptions(c, MODEL_FILE_PATH, deps)
      if (delta === undefined) return await sendFile(c, `${modelId}.dat`, file, options)
      const response = await sendFile(c, `${modelId}.delta`, file, options)
      response.headers.set('Delta-Base', `"${delta.base}"`)
      if (response.status < 300) response.headers.set('Content-Type', DELTA_MEDIA_TYPE)
      return response
    })
  })
  refuseOtherMethods(app, MODEL_FILE_PATH, 'GET, HEAD')
}

/** Reads `bases`: digests, separated by commas. @throws AppError BAD_HTTP */
function basesOf(c: HttpContext): string[] {
  const text = c.req.query('bases') ?? ''
  if (text === '') return []
  const bases = text.split(',')
  if (bases.length <= MAX_BASES && bases.every((base) => /^[0-9a-f]{64}$/.test(base))) return bases
  const message = `bases: found ${describeFound(text)}, expected 1 to ${MAX_BASES} digests of 64 hex digits, separated by commas`
  throw new AppError('BAD_HTTP', {}, { message })
}

/** Returns the file, whose bytes hold memory from their opening until they are sent. */
function holding(file: Downloadable, take: () => Promise<Share>): Downloadable {
  return {
    ...file,
    async open(range) {
      const share = await take()
      try {
        return whenOver(await file.open(range), share.release)
      } catch (error) {
        share.release()
        throw error
      }
    },
  }
}

/**
 * Answers with the bytes, a range of them, or 304 when the caller has them.
 *
 * @see RFC 9110 sections 13 and 14 (conditions and ranges), RFC 9530 (digests)
 */
async function sendFile(
  c: HttpContext,
  fileName: string,
  file: Downloadable,
  options: StreamOptions,
): Promise<Response> {
  const { sha256, sizeBytes } = file
  const requestId = c.get('requestId')
  const etag = `"${sha256}"`
  const digest = `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`
  const headers: Record<string, string> = {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Repr-Digest': digest,
  }
  if (namesTag(c.req.header('if-none-match'), etag)) return respond(requestId, 304, headers, null)
  const range = rangeOf(c, etag, sizeBytes)
  if (range === 'unsatisfiable') {
    const message = `Range: found ${c.req.header('range')?.slice(0, 100)}, expected a part of ${sizeBytes} bytes`
    const error = new AppError('BAD_HTTP', { sizeBytes }, { message })
    return refusalOfStatus(error, 416, requestId, { 'Content-Range': `bytes */${sizeBytes}` })
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes }
  headers['Content-Type'] = 'application/octet-stream'
  headers['Content-Length'] = String(end - start)
  headers['Content-Disposition'] = `attachment; filename="${fileName}"`
  if (range === undefined)
    headers['Content-Digest'] = digest // of a range it would have to be computed first
  else headers['Content-Range'] = `bytes ${start}-${end - 1}/${sizeBytes}`
  const status = range === undefined ? 200 : 206
  const body = c.req.method === 'HEAD' ? null : byteStream(await file.open({ start, end }), options)
  return respond(requestId, status, headers, body)
}

/**
 * Reads `Range`; undefined stands for the whole: for several ranges, an unknown unit, or a stale `If-Range`.
 */
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
  if (last !== '' && Number(last) < start) return undefined // no valid range
  return start >= sizeBytes ? 'unsatisfiable' : { start, end }
}
