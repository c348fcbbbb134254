import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { Pool } from 'undici'
import { parseExact } from '../json/exact-json.js'
import { createGuardedConnector } from './address-guard.js'
import { malformed, nameOfRpcError, refused, statusOfRpcError, unreachable } from './faults.js'
import { flowing } from './flowing.js'

export interface ClientSettings {
  /** longest silence of the upstream */
  idleTimeoutMs: number
  connectTimeoutMs: number
  /** longest body of an answer that is read at once */
  maxReplyBytes: number
  allowPrivate: boolean
  allowLoopback: boolean
  /** file with certificates trusted in addition to the public ones */
  caFile?: string | undefined
  /** value of the User-Agent header */
  userAgent: string
}

/** Pair that authenticates this node at an upstream. */
export interface Credentials {
  apikey: string
  secret: string
}

interface Outgoing {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE'
  /** path below the base URL */
  path: string
  headers?: Record<string, string>
  body?: string | AsyncIterable<Uint8Array>
  signal: AbortSignal
}

/** Answer of an upstream. Its body must be read or discarded, or the connection cannot be used again. */
export interface Reply {
  status: number
  headers: Record<string, string | string[] | undefined>
  /**
   * Reads the whole body.
   *
   * @throws AppError UPSTREAM_UNREACHABLE, or UPSTREAM_REFUSED if it is longer than `maxReplyBytes`
   */
  text(): Promise<string>
  /** Returns the body as it arrives. */
  chunks(): AsyncIterable<Uint8Array>
  /** Releases the connection without the body. */
  discard(): Promise<void>
}

/** Client of one upstream over a pool of connections. */
export interface UpstreamClient {
  /** Sends a request. @throws AppError UPSTREAM_UNREACHABLE if there is no answer */
  send(request: Outgoing): Promise<Reply>
  /**
   * Calls a JSON-RPC method.
   *
   * @returns the result, with numbers as supplied
   * @throws AppError UPSTREAM_REFUSED with the status that corresponds to the error
   */
  rpc(path: string, method: string, params: object, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}

/** Rest of a body that is read to keep its connection. */
const MAX_DISCARDED_BYTES = 64 * 1024
/** Most connections to one upstream. */
const CONNECTIONS = 4

/**
 * Creates a client. Nothing is connected before the first request.
 *
 * @param baseUrl result of `baseUrlOf`
 * @param credentials null for a server that needs none
 * @throws Error if `caFile` cannot be read
 */
export function createUpstreamClient(
  baseUrl: string,
  credentials: Credentials | null,
  settings: ClientSettings,
): UpstreamClient {
  const base = new URL(baseUrl)
  const pool = createPool(base, settings)
  const signIn = credentials === null ? {} : { apikey: credentials.apikey, secret: credentials.secret }
  const headers = { ...signIn, 'user-agent': settings.userAgent }
  const client: UpstreamClient = {
    send: (request) =>
      send(pool, base, { ...request, headers: { ...headers, ...request.headers } }, settings.maxReplyBytes),
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

function createPool(base: URL, settings: ClientSettings): Pool {
  const { allowPrivate, allowLoopback, connectTimeoutMs, caFile } = settings
  const guard = { allowPrivate, allowLoopback, connectTimeoutMs }
  const ca = caFile === undefined ? undefined : [...rootCertificates, readFileSync(caFile, 'utf8')]
  return new Pool(base.origin, {
    connect: createGuardedConnector(ca === undefined ? guard : { ...guard, ca }),
    connections: CONNECTIONS,
    pipelining: 1,
    // both limit silence, not duration: they run only while nothing moves
    headersTimeout: settings.idleTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
    keepAliveTimeout: 10_000,
  })
}

/** Returns path and query of an address that a peer answered; undefined if it has another origin. */
export function ownPath(location: string, baseUrl: string): string | undefined {
  const url = URL.parse(location, baseUrl)
  return url === null || url.origin !== new URL(baseUrl).origin ? undefined : `${url.pathname}${url.search}`
}

async function send(
  pool: Pool,
  base: URL,
  request: Outgoing & { headers: Record<string, string> },
  maxReplyBytes: number,
): Promise<Reply> {
  const prefix = base.pathname.replace(/\/$/, '')
  try {
    const { statusCode, headers, body } = await pool.request({
      method: request.method,
      path: request.path.startsWith(`${prefix}/`) ? request.path : `${prefix}${request.path}`,
      headers: request.headers,
      body: (request.body ?? null) as string | null, // async iterables are supported; the declared type lacks them
      signal: request.signal,
      reset: false, // undici would close the connection after a HEAD
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
    if (total > maxBytes) throw malformed(`more than ${maxBytes} bytes`)
    held.push(chunk)
  }
  return Buffer.concat(held).toString('utf8')
}

/** Yields the chunks; an error of the connection becomes UPSTREAM_UNREACHABLE. */
async function* translated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (error) {
    throw unreachable(error)
  }
}

/** Reads a short rest, so that the connection can be used again, and gives up on a long one. */
async function discard(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let total = 0
  try {
    for await (const chunk of chunks) {
      total += chunk.byteLength
      if (total > MAX_DISCARDED_BYTES) return
    }
  } catch {
    // the bytes are not needed, so neither is the reason why they ended
  }
}

function rpcResult(status: number, text: string, headers: Reply['headers']): unknown {
  const json = parseObject(text)
  const error = json?.error
  if (typeof error === 'object' && error !== null) {
    const message = 'message' in error ? String(error.message ?? '') : ''
    throw refused(status === 200 ? statusOfRpcError(error) : status, message, headers, nameOfRpcError(error))
  }
  if (status !== 200) throw refused(status, '', headers)
  if (json === undefined || !('result' in json)) throw malformed('something other than JSON-RPC')
  return json.result
}

/** Parses a JSON object, with numbers as supplied; undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseExact(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Reports whether a JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the message of an error object in an answer; otherwise the text of the answer. */
export function errorMessageIn(text: string): string {
  const error = parseObject(text)?.error
  return isObject(error) && 'message' in error ? String(error.message) : text
}
