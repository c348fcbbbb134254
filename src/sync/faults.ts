import { AppError, ERRORS, type ErrorName, isAppError, messageOf } from '../errors.js'
import { retryAfterS } from './backoff.js'

/**
 * What a failed attempt means for those behind it:
 * `final` it will never succeed; `lane` the upstream as a whole cannot take anything now; `transfer` this one was
 * answered with a failure that another one might not meet; `stopped` we ended it ourselves.
 */
export type FaultScope = 'final' | 'lane' | 'transfer' | 'stopped'

export interface AttemptFault {
  scope: FaultScope
  name: string
  /** shortened and safe to show */
  message: string
  /** what the upstream asked us to wait */
  retryAfterS?: number
  /** HTTP status that the upstream answered with */
  status?: number
}

/** Statuses of the 400s that are not about the model itself. */
const RETRIED_4XX = [401, 408, 409, 425, 429]
/** Statuses that speak for the whole upstream. */
const LANE_STATUSES = [401, 429, 502, 503, 504, 507]

/** Thrown inside an attempt that was paused, cancelled, or is out of its window. */
export function stopped(reason: string): AppError {
  return new AppError('CANCELLED', { reason })
}

/** An upstream that answered with a failure. */
export function refused(
  status: number,
  text: string,
  headers: Record<string, string | string[] | undefined> = {},
): AppError {
  const message = `The upstream answered ${status}${text === '' ? '' : `: ${shorten(text)}`}`
  const header = headers['retry-after']
  const waitS = retryAfterS(Array.isArray(header) ? header[0] : header, Date.now())
  const data = { status, ...(waitS === undefined ? {} : { retryAfterS: waitS }) }
  return new AppError('UPSTREAM_REFUSED', data, { message })
}

/** An upstream whose answer is not what the interface says. */
export function garbage(what: string): AppError {
  return new AppError('UPSTREAM_REFUSED', { isGarbage: true }, { message: `The upstream answered ${what}` })
}

/** An upstream that cannot be reached, or fell silent. */
export function unreachable(cause: unknown): AppError {
  return new AppError(
    'UPSTREAM_UNREACHABLE',
    {},
    { message: `The upstream cannot be reached: ${reasonOf(cause)}`, cause },
  )
}

/** Sorts anything that an attempt threw. */
export function classify(error: unknown): AttemptFault {
  if (!isAppError(error)) return { scope: 'transfer', name: 'INTERNAL', message: shorten(messageOf(error)) }
  const fault = { name: error.errorName, message: shorten(error.message) }
  if (error.errorName === 'CANCELLED') return { ...fault, scope: 'stopped' }
  if (error.errorName === 'UPSTREAM_UNREACHABLE') return { ...fault, scope: 'lane' }
  if (error.errorName === 'UPSTREAM_REFUSED') return { ...fault, ...classifyStatus(error) }
  // faults of this side: a full disk and a digest that did not fit may pass, the rest will not
  if (error.errorName === 'DISK_FULL') return { ...fault, scope: 'lane' }
  if (error.errorName === 'DIGEST_MISMATCH') return { ...fault, scope: 'transfer' }
  return { ...fault, scope: 'final' }
}

/** A JSON-RPC error object as the HTTP status that its kind has here; what is unknown is taken for a passing failure. */
export function statusOfRpcError(error: { code?: unknown; data?: unknown }): number {
  const name = (error.data as { name?: unknown } | undefined)?.name
  if (typeof name === 'string' && Object.hasOwn(ERRORS, name)) return ERRORS[name as ErrorName].status
  if (error.code === -32601) return 404
  if (error.code === -32602 || error.code === -32600) return 400
  return 500
}

function classifyStatus(error: AppError): Pick<AttemptFault, 'scope' | 'status' | 'retryAfterS'> {
  const { status, retryAfterS } = error.data
  if (typeof status !== 'number') return { scope: 'transfer' }
  const isFinal = status >= 400 && status < 500 && !RETRIED_4XX.includes(status)
  // a redirect is not followed, and will be one the next time as well
  const scope =
    isFinal || (status >= 300 && status < 400)
      ? 'final'
      : LANE_STATUSES.includes(status)
        ? 'lane'
        : 'transfer'
  return { scope, status, ...(typeof retryAfterS === 'number' ? { retryAfterS } : {}) }
}

/** Text of an upstream: at most 200 characters, no control characters. */
export function shorten(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a log or a caller
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return plain.length > 200 ? `${plain.slice(0, 200)}…` : plain
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return shorten(String(cause))
  const code = 'code' in cause ? String(cause.code) : ''
  const inner =
    cause instanceof AggregateError ? cause.errors.map((error) => messageOf(error)).join('; ') : cause.message
  return shorten(code === '' || inner.includes(code) ? inner : `${inner} (${code})`)
}
