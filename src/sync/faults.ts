import { AppError, ERRORS, type ErrorName, isAppError, messageOf } from '../errors.js'
import { retryAfterS } from './backoff.js'

/**
 * Consequence of a failed attempt: `final` it will never succeed; `lane` the upstream accepts nothing now;
 * `transfer` the upstream refused this transfer but may accept others; `stopped` this gateway ended it.
 */
type FaultScope = 'final' | 'lane' | 'transfer' | 'stopped'

/** Reason of a failed attempt. */
export interface AttemptFault {
  scope: FaultScope
  name: string
  /** at most `REASON_CHARS` characters without control characters */
  message: string
  /** wait that the upstream asked for */
  retryAfterS?: number
  /** HTTP status of the upstream */
  status?: number
}

/** Most characters of the reason of a failed attempt: the refusal of a key is kept whole. */
export const REASON_CHARS = 500

/** Statuses from 400 to 499 that are not about the model: retried. */
const RETRIED_4XX = [401, 408, 409, 425, 429]
/** Statuses that concern every transfer to the upstream. */
const LANE_STATUSES = [401, 429, 502, 503, 504, 507]
/** Statuses of a server without the path or the method, or that does not speak JSON-RPC there. */
const UNSUPPORTED_STATUSES = [400, 404, 405, 406, 415, 501]

/** Returns the error of an attempt that was paused, cancelled, or is outside its window. */
export function stopped(reason: string): AppError {
  return new AppError('CANCELLED', { reason })
}

/** Returns the error for an upstream that answered with a failure. @param upstreamError its name there */
export function refused(
  status: number,
  text: string,
  headers: Record<string, string | string[] | undefined> = {},
  upstreamError?: string,
): AppError {
  const message = `The upstream answered ${status}${text === '' ? '' : `: ${shorten(text, REASON_CHARS)}`}`
  const header = headers['retry-after']
  const waitS = retryAfterS(Array.isArray(header) ? header[0] : header, Date.now())
  const data = {
    status,
    ...(waitS === undefined ? {} : { retryAfterS: waitS }),
    ...(upstreamError === undefined ? {} : { upstreamError }),
  }
  return new AppError('UPSTREAM_REFUSED', data, { message })
}

/** Returns the error for an answer that does not have the form of its interface. */
export function malformed(found: string): AppError {
  return new AppError(
    'UPSTREAM_REFUSED',
    { isMalformed: true },
    { message: `The upstream answered ${found}` },
  )
}

/** Returns the error for an upstream that cannot be reached or stopped answering. */
export function unreachable(cause: unknown): AppError {
  return new AppError(
    'UPSTREAM_UNREACHABLE',
    {},
    { message: `The upstream cannot be reached: ${reasonOf(cause)}`, cause },
  )
}

/** Classifies anything that an attempt threw. */
export function classify(error: unknown): AttemptFault {
  const message = shorten(messageOf(error), REASON_CHARS)
  if (!isAppError(error)) return { scope: 'transfer', name: 'INTERNAL', message }
  const fault = { name: error.errorName, message }
  if (error.errorName === 'CANCELLED') return { ...fault, scope: 'stopped' }
  if (error.errorName === 'UPSTREAM_UNREACHABLE') return { ...fault, scope: 'lane' }
  if (error.errorName === 'UPSTREAM_REFUSED') return { ...fault, ...classifyStatus(error) }
  // faults of this node: a full disk and a wrong digest may pass, the others will not
  if (error.errorName === 'DISK_FULL') return { ...fault, scope: 'lane' }
  if (error.errorName === 'DIGEST_MISMATCH') return { ...fault, scope: 'transfer' }
  return { ...fault, scope: 'final' }
}

/**
 * Reports whether a call failed because the upstream does not offer it.
 *
 * @param also further statuses that mean so
 */
export function isUnsupported(error: unknown, also: readonly number[] = []): boolean {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_REFUSED') return false
  const { status, isMalformed } = error.data
  if (isMalformed === true) return true
  return typeof status === 'number' && (UNSUPPORTED_STATUSES.includes(status) || also.includes(status))
}

/** Returns the name of a JSON-RPC error of another gateway; undefined for errors of other servers. */
export function nameOfRpcError({ data }: { data?: unknown }): ErrorName | undefined {
  const name = typeof data === 'object' && data !== null && 'name' in data ? data.name : undefined
  return typeof name === 'string' && isErrorName(name) ? name : undefined
}

/**
 * Returns the HTTP status that corresponds to a JSON-RPC error; 500, which is retried, for an unknown one.
 */
export function statusOfRpcError({ code, data }: { code?: unknown; data?: unknown }): number {
  const name = nameOfRpcError({ data })
  if (name !== undefined) return ERRORS[name].status
  if (code === -32601) return 404
  if (code === -32602 || code === -32600) return 400
  return 500
}

function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(ERRORS, name)
}

function classifyStatus(error: AppError): Pick<AttemptFault, 'scope' | 'status' | 'retryAfterS'> {
  const { status, retryAfterS } = error.data
  if (typeof status !== 'number') return { scope: 'transfer' }
  return { scope: scopeOf(status), status, ...(typeof retryAfterS === 'number' ? { retryAfterS } : {}) }
}

function scopeOf(status: number): FaultScope {
  if (status >= 300 && status < 400) return 'final' // redirects are not followed
  if (status >= 400 && status < 500 && !RETRIED_4XX.includes(status)) return 'final'
  return LANE_STATUSES.includes(status) ? 'lane' : 'transfer'
}

/** Shortens a text of an upstream to `max` characters without control characters. */
export function shorten(text: string, max = 200): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a log or a caller
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return plain.length > max ? `${plain.slice(0, max)}…` : plain
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return shorten(String(cause))
  const code = 'code' in cause ? String(cause.code) : ''
  const inner =
    cause instanceof AggregateError ? cause.errors.map((error) => messageOf(error)).join('; ') : cause.message
  return shorten(code === '' || inner.includes(code) ? inner : `${inner} (${code})`)
}
