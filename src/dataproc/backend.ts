import type { Config } from '../config.js'
import { AppError, isAppError } from '../errors.js'
import type { BackendAnswer, ForwardedRequest } from '../http/proxy-routes.js'
import { createUpstreamClient, type Reply } from '../sync/http-client.js'

/** What the contract's own path is, for a backend that is given without one. */
const USUAL_PATH = '/api/v1/dataproc/jsonrpc'

/** A backend that runs modules elsewhere. */
export interface DataprocBackend {
  /** @throws AppError BACKEND_UNREACHABLE, BACKEND_TIMEOUT, BAD_BACKEND_ANSWER, CANCELLED */
  send(request: ForwardedRequest): Promise<BackendAnswer>
  close(): Promise<void>
}

/**
 * Opens the way to the backend of `dataproc.backend`. Redirects are not followed: the session's id must reach nobody else.
 *
 * @param backend address that requests are posted to; the contract's path is added where it has none
 */
export function openDataprocBackend(
  backend: string,
  { dataproc, sync }: Config,
  version: string,
): DataprocBackend {
  const url = new URL(backend)
  const path = url.pathname === '/' ? USUAL_PATH : url.pathname.replace(/\/+$/, '')
  const client = createUpstreamClient(url.origin, null, {
    idleTimeoutMs: dataproc.timeLimitS * 1000,
    connectTimeoutMs: dataproc.connectTimeoutS * 1000,
    maxReplyBytes: dataproc.answerBytes,
    // the operator named it: it is mostly on this machine or this network
    allowPrivate: true,
    allowLoopback: true,
    caFile: sync.caFile,
    userAgent: `fieldgate/${version}`,
  })
  return {
    async send({ below, headers, body, signal }) {
      let reply: Reply
      try {
        reply = await client.send({
          method: 'POST',
          path: `${path}${below}${url.search}`,
          headers,
          body,
          signal,
        })
      } catch (error) {
        throw signal.aborted ? new AppError('CANCELLED') : toBackendFault(error, dataproc.timeLimitS)
      }
      try {
        checkHead(reply, dataproc.answerBytes)
      } catch (error) {
        await reply.discard()
        throw error
      }
      const { status, headers: answered } = reply
      const chunks = () => watched(reply, signal, dataproc)
      return { status, headers: answered, chunks, discard: () => reply.discard() }
    },
    close: () => client.close(),
  }
}

/** @throws AppError BAD_BACKEND_ANSWER for what no JSON-RPC server answers */
function checkHead({ status, headers }: Reply, maxBytes: number): void {
  const type = String(headers['content-type'] ?? '')
  const length = Number(headers['content-length'] ?? 0)
  if (status === 204) return
  if (status === 401 || status === 407)
    throw badAnswer(`${status}: it wants credentials, expected a backend that trusts this gateway`, {
      status,
    })
  if (status < 200 || (status >= 300 && status < 400))
    throw badAnswer(`${status}, expected an answer and no redirect`, { status })
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw badAnswer(
      `${status} with content type ${type === '' ? 'none' : type.slice(0, 100)}, expected JSON`,
      { status },
    )
  if (length > maxBytes) throw tooLarge(maxBytes)
}

async function* watched(
  reply: Reply,
  signal: AbortSignal,
  { answerBytes, timeLimitS }: Config['dataproc'],
): AsyncGenerator<Uint8Array> {
  let total = 0
  try {
    for await (const chunk of reply.chunks()) {
      total += chunk.byteLength
      if (total > answerBytes) throw tooLarge(answerBytes)
      yield chunk
    }
  } catch (error) {
    throw signal.aborted ? new AppError('CANCELLED') : toBackendFault(error, timeLimitS)
  }
}

const TIME_OUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']
/** What is no HTTP, and what ends before it is whole. */
const BAD_ANSWERS = /^UND_ERR_(?:RES_CONTENT_LENGTH_MISMATCH|HEADERS_OVERFLOW|RESPONSE)/

/** Tells apart what the upstream client calls unreachable. */
function toBackendFault(error: unknown, timeLimitS: number): unknown {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_UNREACHABLE') return error
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (TIME_OUTS.includes(code)) {
    const message = `The dataproc backend said nothing for ${timeLimitS} s (dataproc.timeLimitS)`
    return new AppError('BACKEND_TIMEOUT', { timeLimitS }, { message, cause })
  }
  const isGarbled = cause instanceof Error && cause.name === 'HTTPParserError'
  if (isGarbled || BAD_ANSWERS.test(code)) return badAnswer('something that is no HTTP', {}, cause)
  const message = error.message.replace(/^The upstream/, 'The dataproc backend')
  return new AppError('BACKEND_UNREACHABLE', { retryAfterS: 5 }, { message, cause })
}

function tooLarge(maxBytes: number): AppError {
  return badAnswer(`more than ${maxBytes} bytes (dataproc.answerBytes)`, { maxBytes })
}

function badAnswer(what: string, data: Record<string, unknown>, cause?: unknown): AppError {
  return new AppError('BAD_BACKEND_ANSWER', data, { message: `The dataproc backend answered ${what}`, cause })
}
