import type { Caller } from '../auth/caller.js'
import { AppError } from '../errors.js'
import { whenOver } from '../rpc/pieces.js'
import { refusalOfStatus, respond } from './answer.js'
import { byteStream } from './bodies/body-stream.js'
import { namesTag } from './bodies/entity-tag.js'
import type { Share } from './byte-budget.js'
import { type CallDeps, streamOptions } from './calls.js'
import type { HttpContext } from './env.js'
import { takeStream } from './memory.js'

/** A file that can be sent. */
export interface Downloadable {
  /** hex */
  sha256: string
  sizeBytes: number
  /**
   * opens the bytes from `start` up to `end`, without it.
   *
   * @throws AppError MODEL_DAMAGED, FILE_DAMAGED when they are missing
   */
  open(range: { start: number; end: number }): Promise<AsyncIterableIterator<Uint8Array>>
}

/** Memory of a file that is sent: a piece, and what the connection buffers. */
const SEND_BYTES = 256 * 1024

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

/** A file, and the request for it. */
interface SentFile {
  readonly file: Downloadable
  /** name that a browser stores it under */
  readonly fileName: string
  readonly caller: Pick<Caller, 'keyId'>
  /** route, in the log */
  readonly method: string
}

/**
 * Answers with the bytes, a range of them, or 304 when the caller has them.
 *
 * @see RFC 9110 sections 13 and 14 (conditions and ranges), RFC 9530 (digests)
 */
export async function sendFile<C>(
  c: HttpContext,
  deps: CallDeps<C>,
  { file: plain, fileName, caller, method }: SentFile,
): Promise<Response> {
  const file = holding(plain, () => takeStream(c, deps, caller, SEND_BYTES))
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
  const body =
    c.req.method === 'HEAD'
      ? null
      : byteStream(await file.open({ start, end }), streamOptions(c, method, deps))
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
