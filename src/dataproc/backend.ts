import { AppError, isAppError, messageOf } from '../errors.js'

/** Request to pass on to a backend. */
export interface ForwardedRequest {
  /** path below the backend's own address: empty, or `/call/<method>` */
  readonly below: string
  readonly headers: Record<string, string>
  readonly body: AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

/** Head of a backend's answer, with its body. */
export interface BackendAnswer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  /** Yields the body once, as it arrives. @throws AppError when it ends early, stalls, or is too large */
  chunks(): AsyncIterable<Uint8Array>
  /** Releases the connection without reading the body. */
  discard(): Promise<void>
}

/** Client of one HTTP origin. */
interface BackendClient {
  /** @throws AppError UPSTREAM_UNREACHABLE with the cause when there is no answer */
  send(request: {
    method: 'POST'
    path: string
    headers: Record<string, string>
    body: AsyncIterable<Uint8Array>
    signal: AbortSignal
  }): Promise<BackendAnswer>
  close(): Promise<void>
}

/** Backend that runs modules in place of this gateway. */
export interface DataprocBackend {
  /** @throws AppError BACKEND_UNREACHABLE, BACKEND_TIMEOUT, BAD_BACKEND_ANSWER, CANCELLED */
  send(request: ForwardedRequest): Promise<BackendAnswer>
  close(): Promise<void>
}

interface BackendLimits {
  /** silence after which a request fails, seconds */
  readonly timeLimitS: number
  /** most bytes of an answer */
  readonly answerBytes: number
}

/** Path of the contract, for a backend whose address has no path. */
const DEFAULT_PATH = '/api/v1/dataproc/jsonrpc'

/**
 * Opens the backend of `dataproc.backend`.
 *
 * @param address URL to post requests to
 * @param client client of the address's origin. It follows no redirects: the session id must not reach
 *   another host
 */
export function openDataprocBackend(
  address: string,
  client: BackendClient,
  limits: BackendLimits,
): DataprocBackend {
  const { pathname, search } = new URL(address)
  const path = pathname === '/' ? DEFAULT_PATH : pathname.replace(/\/+$/, '')
  return {
    async send({ below, headers, body, signal }) {
      const reply = await post(client, { path: `${path}${below}${search}`, headers, body, signal }, limits)
      try {
        checkHead(reply, limits.answerBytes)
      } catch (error) {
        await reply.discard()
        throw error
      }
      return { ...reply, chunks: () => watched(reply, signal, limits) }
    },
    close: () => client.close(),
  }
}

async function post(
  client: BackendClient,
  request: Omit<Parameters<BackendClient['send']>[0], 'method'>,
  { timeLimitS }: BackendLimits,
): Promise<BackendAnswer> {
  try {
    return await client.send({ ...request, method: 'POST' })
  } catch (error) {
    throw request.signal.aborted ? new AppError('CANCELLED') : toBackendFault(error, timeLimitS)
  }
}

/** @throws AppError BAD_BACKEND_ANSWER for an answer that no JSON-RPC server gives */
function checkHead({ status, headers }: BackendAnswer, maxBytes: number): void {
  const type = String(headers['content-type'] ?? '')
  const length = Number(headers['content-length'] ?? 0)
  if (status === 204) return
  if (status === 401 || status === 407)
    throw badAnswer(`${status} and asks for credentials, expected a backend that trusts this gateway`, {
      status,
    })
  if (status < 200 || (status >= 300 && status < 400))
    throw badAnswer(`${status}, expected an answer without redirect`, { status })
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
    const found = type === '' ? 'without a content type' : `with content type ${type.slice(0, 100)}`
    throw badAnswer(`${status} ${found}, expected JSON`, { status })
  }
  if (length > maxBytes) throw tooLarge(maxBytes)
}

async function* watched(
  reply: BackendAnswer,
  signal: AbortSignal,
  { answerBytes, timeLimitS }: BackendLimits,
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

/** Codes of undici for silence. */
const TIMEOUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']
/** Codes of undici for answers that are no HTTP, or end early. */
const BAD_ANSWERS = /^UND_ERR_(?:RES_CONTENT_LENGTH_MISMATCH|HEADERS_OVERFLOW|RESPONSE)/

/**
 * Returns the error of a backend for UPSTREAM_UNREACHABLE of the client, by its cause; other errors as they
 * are.
 */
function toBackendFault(error: unknown, timeLimitS: number): unknown {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_UNREACHABLE') return error
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (TIMEOUTS.includes(code)) {
    const message = `The dataproc backend sent nothing for ${timeLimitS} s (dataproc.timeLimitS)`
    return new AppError('BACKEND_TIMEOUT', { timeLimitS }, { message, cause })
  }
  const isGarbled = cause instanceof Error && cause.name === 'HTTPParserError'
  if (isGarbled || BAD_ANSWERS.test(code)) return badAnswer('with something other than HTTP', {}, cause)
  const reason = (cause instanceof Error ? cause.message : '') || code || messageOf(error) // of several addresses: no message
  const message = `The dataproc backend cannot be reached: ${reason}`
  return new AppError('BACKEND_UNREACHABLE', { retryAfterS: 5 }, { message, cause })
}

function tooLarge(maxBytes: number): AppError {
  return badAnswer(`with more than ${maxBytes} bytes (dataproc.answerBytes)`, { maxBytes })
}

function badAnswer(found: string, data: Record<string, unknown>, cause?: unknown): AppError {
  return new AppError('BAD_BACKEND_ANSWER', data, {
    message: `The dataproc backend answered ${found}`,
    cause,
  })
}
