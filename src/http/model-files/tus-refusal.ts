import { AppError, type ErrorName } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { errorText, toRpcError } from '../../rpc/envelope.js'

/** A request that the library has answered. */
interface RefusedRequest {
  readonly requestId: string
  /** largest upload */
  readonly maxBytes: number
  /** reads a header of the request */
  header(name: string): string | undefined
  /** Returns the bytes that are stored of the upload; undefined for an unknown one. */
  findOffset(): Promise<number | undefined>
}

/**
 * Gives a refusal of the tus library, which is plain text, the body of all refusals. Status and headers stay,
 * except that a lock that is not released is 503: the caller may retry.
 *
 * @see https://tus.io/protocols/resumable-upload, "Errors"
 */
export async function inOurWords(response: Response, request: RefusedRequest): Promise<Response> {
  if (response.status < 400 || response.body === null) return response
  const text = await response.text()
  const headers = new Headers(response.headers)
  headers.set('Content-Type', 'application/json; charset=utf-8')
  headers.delete('Content-Length')
  if (text.startsWith('{')) return new Response(text, { status: response.status, headers })
  const { name, message } = await faultOf(response.status, text, request)
  const error = new AppError(name, name === 'BUSY' ? { retryAfterS: 1 } : {}, { message })
  const status = name === 'BUSY' ? 503 : response.status
  if (name === 'BUSY') headers.set('Retry-After', '1')
  return new Response(errorText(null, toRpcError(error, request.requestId)), { status, headers })
}

interface Fault {
  name: ErrorName
  message: string
}

async function faultOf(status: number, text: string, request: RefusedRequest): Promise<Fault> {
  const bad = (header: string, expected: string): Fault => ({
    name: 'BAD_UPLOAD',
    message: `${header}: found ${describeFound(request.header(header))}, expected ${expected}`,
  })
  switch (status) {
    case 403:
      return text.includes('Offset')
        ? bad('Upload-Offset', 'the offset of the first byte of the body')
        : bad('Content-Type', 'application/offset+octet-stream')
    case 404:
    case 410:
      return { name: 'NOT_FOUND', message: 'No unfinished upload of this key has the address' }
    case 409:
      return bad(
        'Upload-Offset',
        `${(await request.findOffset()) ?? 'the stored size'}, the bytes stored so far`,
      )
    case 412:
      return bad('Tus-Resumable', '1.0.0')
    case 413:
      return {
        ...bad('Upload-Length', `at most ${request.maxBytes} (limits.modelBytes), and no bytes beyond it`),
        name: 'BODY_TOO_LARGE',
      }
    case 501:
      return {
        name: 'BAD_UPLOAD',
        message: 'Found Upload-Concat or Upload-Defer-Length, expected Upload-Length',
      }
    default:
      return text.includes('lock')
        ? { name: 'BUSY', message: 'Another request holds the upload' }
        : badHeader(status, text, bad)
  }
}

function badHeader(status: number, text: string, bad: (header: string, expected: string) => Fault): Fault {
  const [, header] = /^Invalid ([\w-]+)/.exec(text) ?? /^(Upload-(?:Length|Metadata))/.exec(text) ?? []
  if (status >= 500 || header === undefined)
    return status >= 500
      ? { name: 'INTERNAL', message: 'The gateway failed; its log has the reason' }
      : { name: 'BAD_UPLOAD', message: `The upload was refused: ${text.trim().slice(0, 200)}` }
  const expected: Record<string, string> = {
    'upload-length': 'the size of the file in bytes',
    'upload-offset': 'the offset of the first byte of the body',
    'upload-metadata': 'pairs of a key and a value in base64, separated by commas',
    'content-type': 'application/offset+octet-stream',
    'tus-resumable': '1.0.0',
  }
  return bad(header, expected[header.toLowerCase()] ?? 'a header of tus 1.0.0')
}
