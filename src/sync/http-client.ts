import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { Pool } from 'undici'
import { createGuardedConnector } from './address-guard.js'
import { garbage, refused, statusOfRpcError, unreachable } from './faults.js'
import { flowing } from './flowing.js'

export interface ClientSettings {
  idleTimeoutMs: number
  connectTimeoutMs: number
  maxReplyBytes: number
  allowPrivate: boolean
  allowLoopback: boolean
  caFile?: string | undefined
  /** lower-case name of our own version, told in User-Agent */
  userAgent: string
}

export interface Credentials {
  apikey: string
  secret: string
}

export interface Outgoing {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** below the base URL; an address that the peer gave must have the same origin */
  path: string
  headers?: Record<string, string>
  body?: string | AsyncIterable<Uint8Array>
  signal: AbortSignal
}

export interface Reply {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** the whole body, capped. @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED when it is too long */
  text(): Promise<string>
  /** the body as it comes */
  chunks(): AsyncIterable<Uint8Array>
  /** lets the connection go without reading */
  discard(): Promise<void>
}

/** Calls to one upstream, over one pool of connections. */
export interface UpstreamClient {
  /** @throws AppError UPSTREAM_UNREACHABLE for everything that is no answer */
  send(request: Outgoing): Promise<Reply>
  /** a JSON-RPC call. @throws AppError UPSTREAM_REFUSED with the status that its error stands for */
  rpc(path: string, method: string, params: object, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}

const MAX_DISCARDED_BYTES = 64 * 1024

/**
 * @param baseUrl of `baseUrlOf`
 * @param credentials null for a server that wants none
 */
export function createUpstreamClient(
  baseUrl: string,
  credentials: Credentials | null,
  settings: ClientSettings,
): UpstreamClient {
  const base = new URL(baseUrl)
  const pool = new Pool(base.origin, {
    connect: createGuardedConnector({
      allowPrivate: settings.allowPrivate,
      allowLoopback: settings.allowLoopback,
      connectTimeoutMs: settings.connectTimeoutMs,
      ...(settings.caFile === undefined
        ? {}
        : { ca: [...rootCertificates, readFileSync(settings.caFile, 'utf8')] }),
    }),
    connections: 4,
    pipelining: 1,
    // silence, not duration: both run only while nothing moves
    headersTimeout: settings.idleTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
    keepAliveTimeout: 10_000,
  })
  const signIn = credentials === null ? {} : { apikey: credentials.apikey, secret: credentials.secret }
  const fixed = { ...signIn, 'user-agent': settings.userAgent }
  const client: UpstreamClient = {
    send: (request) => send(pool, base, fixed, request, settings.maxReplyBytes),
    async rpc(path, method, params, signal) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'content-type': 'application/json' }
      const reply = await client.send({ method: 'POST', path, headers, body, signal })
      return rpcResult(reply.status, await reply.text(), reply.headers)
    },
    close: () => pool.destroy(),
  }
  return client
}

/** Path and query of an address that a peer answered, when it is one of its own. */
export function ownPath(location: string, baseUrl: string): string | undefined {
  const url = URL.parse(location, baseUrl)
  return url === null || url.origin !== new URL(baseUrl).origin ? undefined : `${url.pathname}${url.search}`
}

async function send(
  pool: Pool,
  base: URL,
  fixed: Record<string, string>,
  request: Outgoing,
  maxReplyBytes: number,
): Promise<Reply> {
  const prefix = base.pathname.replace(/\/$/, '')
  try {
    const { statusCode, headers, body } = await pool.request({
      method: request.method,
      path: request.path.startsWith(`${prefix}/`) ? request.path : `${prefix}${request.path}`,
      headers: { ...fixed, ...request.headers },
      body: (request.body ?? null) as string | null, // an async iterable is accepted too, the declared type lacks it
      signal: request.signal,
      reset: false, // a HEAD would close its connection otherwise
    })
    const chunks = flowing(body)
    return {
      status: statusCode,
      headers,
      text: () => readCapped(chunks, maxReplyBytes),
      chunks: () => translated(chunks),
      discard: () => discard(chunks),
    }
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason
    throw unreachable(error)
  }
}

async function readCapped(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const held: Uint8Array[] = []
  let total = 0
  for await (const chunk of translated(body)) {
    total += chunk.byteLength
    if (total > maxBytes) throw garbage(`more than ${maxBytes} bytes`)
    held.push(chunk)
  }
  return Buffer.concat(held).toString('utf8')
}

async function* translated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (error) {
    throw unreachable(error)
  }
}

/** A short rest is read, so that the connection can be used again; a long one is not worth it. */
async function discard(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let total = 0
  try {
    for await (const chunk of chunks) {
      total += chunk.byteLength
      if (total > MAX_DISCARDED_BYTES) return
    }
  } catch {
    // nobody wanted these bytes
  }
}

function rpcResult(status: number, text: string, headers: Reply['headers']): unknown {
  const json = parseObject(text)
  const error = json?.error
  if (typeof error === 'object' && error !== null) {
    const message = String((error as { message?: unknown }).message ?? '')
    throw refused(status === 200 ? statusOfRpcError(error) : status, message, headers)
  }
  if (status !== 200) throw refused(status, '', headers)
  if (json === undefined || !('result' in json)) throw garbage('something that is no JSON-RPC answer')
  return json.result
}

/** A JSON object, undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
