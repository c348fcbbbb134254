import { facts, session, signedOut } from './session.js'

/** What a call can be refused with, in the words of the gateway. */
export type CallFault = Error & {
  /** `UNKNOWN_TABLE` and the like; `NETWORK` when no answer came */
  faultName: string
  status: number
  data: Record<string, unknown>
}

interface OpenRpcMethod {
  name: string
  'x-path': string
}

let paths: Promise<Map<string, string>> | undefined

/** Method → the path it is served at: asked of the gateway, once. */
function methodPaths(): Promise<Map<string, string>> {
  paths ??= readPaths().catch((error: unknown) => {
    paths = undefined
    throw error
  })
  return paths
}

async function readPaths(): Promise<Map<string, string>> {
  const { methods } = (await getJson('/openrpc.json')) as { methods: OpenRpcMethod[] }
  return new Map(methods.map((method) => [method.name, method['x-path']]))
}

/**
 * Calls a method with the session of who is signed in.
 *
 * @throws CallFault
 */
export async function call<R>(method: string, params: unknown, signal?: AbortSignal): Promise<R> {
  const path = (await methodPaths()).get(method)
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

/** Any other request of this gateway, with the session. @throws CallFault when no answer comes, or one of 401 */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  for (const [name, value] of Object.entries(sessionHeaders())) headers.set(name, value)
  let response: Response
  try {
    // omit: with credentials a browser would ask for a password of its own at a 401
    response = await fetch(path, { ...init, headers, credentials: 'omit' })
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw fault('NETWORK', 0, 'The gateway cannot be reached')
  }
  if (response.status === 401 && session() !== undefined) signedOut('ended')
  return response
}

/** JSON of a GET. @throws CallFault */
export async function getJson(path: string): Promise<unknown> {
  const response = await request(path)
  if (response.ok) return await response.json()
  const { error } = await readAnswer(response)
  throw rpcFault(response.status, error ?? { code: 0, message: `Found HTTP ${response.status}` })
}

/** Headers that carry the session. */
export function sessionHeaders(): Record<string, string> {
  const open = session()
  return open === undefined ? {} : { [facts().tokenHeader]: open.token }
}

interface WireError {
  code: number
  message: string
  data?: Record<string, unknown>
}

/** Reads a JSON-RPC answer, or says that there is none. */
export async function readAnswer(response: Response): Promise<{ result?: unknown; error?: WireError }> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    throw fault('NETWORK', response.status, `Found HTTP ${response.status}, expected a JSON-RPC answer`)
  }
}

export function rpcFault(status: number, error: WireError): CallFault {
  return fault(String(error.data?.name ?? error.code), status, error.message, error.data)
}

export function fault(
  faultName: string,
  status: number,
  message: string,
  data: Record<string, unknown> = {},
): CallFault {
  return Object.assign(new Error(message), { faultName, status, data })
}

export function isFault(error: unknown): error is CallFault {
  return error instanceof Error && 'faultName' in error
}
