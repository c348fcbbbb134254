import { facts, session, signedOut } from './session.js'

/** Error of a call, with the gateway's message. */
type CallFault = Error & {
  /** error name such as `UNKNOWN_TABLE`; `NETWORK` when there was no response */
  faultName: string
  status: number
  data: Record<string, unknown>
}

/** Path of a method; undefined where this gateway lacks it. */
function pathOf(method: string): string | undefined {
  return Object.entries(facts().methods).find(([, names]) => names.includes(method))?.[0]
}

/**
 * Calls a method with the current session.
 *
 * @throws CallFault, or DOMException when `signal` aborts
 */
export async function call<R>(method: string, params: unknown, signal?: AbortSignal): Promise<R> {
  const path = pathOf(method)
  if (path === undefined) throw fault('METHOD_NOT_FOUND', 404, `This gateway has no method ${method}`)
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(signal === undefined ? {} : { signal }),
  })
  const answer = await readAnswer(response)
  if (answer.error !== undefined) throw rpcFault(response.status, answer.error)
  return answer.result as R
}

/** A call of a batch. */
export interface BatchCall {
  readonly method: string
  readonly params: unknown
}

/**
 * Calls methods of one path in one request.
 *
 * @returns the results in the order of the calls, and the time of their searches in the gateway, ms
 * @throws CallFault of the first call that failed, or DOMException when `signal` aborts
 */
export async function callBatch(
  calls: readonly BatchCall[],
  signal: AbortSignal,
): Promise<{ results: unknown[]; searchMs: number | undefined }> {
  const path = pathOf(calls[0]?.method ?? '')
  if (path === undefined) throw fault('METHOD_NOT_FOUND', 404, 'This gateway lacks a method of the page')
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))),
    signal,
  })
  const answers: WireAnswer | WireAnswer[] = await readAnswer(response)
  // a batch that is refused as a whole has one answer
  if (!Array.isArray(answers)) {
    throw rpcFault(response.status, answers.error ?? { code: 0, message: 'Found no array of answers' })
  }
  const byId = new Map((answers as WireAnswer[]).map((answer) => [answer.id, answer]))
  const results = calls.map((_, id) => {
    const { error, result } = byId.get(id) ?? {}
    if (error !== undefined) throw rpcFault(response.status, error)
    return result
  })
  const [, ms] = /search;dur=([\d.]+)/.exec(response.headers.get('server-timing') ?? '') ?? []
  return { results, searchMs: ms === undefined ? undefined : Number(ms) }
}

/**
 * Sends a request with the current session. A response of 401 ends the session.
 *
 * @throws CallFault NETWORK without a response
 */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  for (const [name, value] of Object.entries(sessionHeaders())) headers.set(name, value)
  let response: Response
  try {
    // with credentials a browser would show its own password dialog for a 401
    response = await fetch(path, { ...init, headers, credentials: 'omit' })
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw fault('NETWORK', 0, 'The gateway cannot be reached')
  }
  if (response.status === 401 && session() !== undefined) signedOut('ended')
  return response
}

/** Reads JSON with a GET request. @throws CallFault */
export async function getJson(path: string): Promise<unknown> {
  const response = await request(path)
  if (response.ok) return await response.json()
  const { error } = await readAnswer(response)
  throw rpcFault(response.status, error ?? { code: 0, message: `Found HTTP ${response.status}` })
}

/** Headers that authenticate a request; none when nobody is signed in. */
export function sessionHeaders(): Record<string, string> {
  const open = session()
  return open === undefined ? {} : { [facts().tokenHeader]: open.token }
}

interface WireError {
  code: number
  message: string
  data?: Record<string, unknown>
}

interface WireAnswer {
  id?: number
  result?: unknown
  error?: WireError
}

/** Reads a JSON-RPC response. @throws CallFault NETWORK when the body is no JSON */
export async function readAnswer(response: Response): Promise<{ result?: unknown; error?: WireError }> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    throw fault('NETWORK', response.status, `Found HTTP ${response.status}, expected a JSON-RPC response`)
  }
}

/** Error of a call from the `error` of its JSON-RPC response. */
export function rpcFault(status: number, error: WireError): CallFault {
  return fault(String(error.data?.name ?? error.code), status, error.message, error.data)
}

/** Creates an error of a call. */
export function fault(
  faultName: string,
  status: number,
  message: string,
  data: Record<string, unknown> = {},
): CallFault {
  return Object.assign(new Error(message), { faultName, status, data })
}

/** Returns true for an error that a call was answered with. */
export function isFault(error: unknown): error is CallFault {
  return error instanceof Error && 'faultName' in error
}
