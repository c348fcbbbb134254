import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { formatSecret, hashSecret } from '../../src/auth/secret.js'
import { loadConfig, type Settings } from '../../src/config/config.js'
import { contextMaker } from '../../src/gateway/call-context.js'
import { createApp } from '../../src/http/app.js'
import { createCompressions } from '../../src/http/bodies/compress.js'
import { createByteBudget } from '../../src/http/byte-budget.js'
import { createClientAddress } from '../../src/http/client-address.js'
import { addHealthRoutes, type PartState } from '../../src/http/health-routes.js'
import { createLineSampler } from '../../src/http/line-sampler.js'
import { addDocumentRoute } from '../../src/http/pages/document-route.js'
import { createRateLimiter } from '../../src/http/rate-limit.js'
import { addAlertRoutes } from '../../src/http/routes/alert-routes.js'
import { addRpcRoutes } from '../../src/http/routes/rpc-routes.js'
import { createHttpServer } from '../../src/http/server/server.js'
import { createLog } from '../../src/log.js'
import { defineMethod, type Method } from '../../src/rpc/define-method.js'
import { streamed } from '../../src/rpc/result.js'

export const KEY = '11111111-2222-4333-8444-555555555555'
export const SECRET = formatSecret(new Uint8Array(32).fill(7))
export const PATH = '/api/v1/test/jsonrpc'
export const HEADERS = { apikey: KEY, secret: SECRET, 'content-type': 'application/json' }

interface TransportParts {
  readiness?: () => PartState[]
  document?: () => object
  trustedProxies?: readonly string[]
}

/** Starts the routes of an API with a few test methods on a free port. */
export async function startTransport(
  t: { teardown(work: () => unknown): unknown },
  limits: Settings = {},
  {
    readiness = () => [{ part: 'database', isReady: true }],
    document = () => ({}),
    trustedProxies = [],
  }: TransportParts = {},
) {
  const loaded = loadConfig(null, {}, { limits })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { config } = loaded
  const faults: unknown[] = []
  const stopping = new AbortController()
  const state = { isDraining: false, streamClosed: false, signals: [] as AbortSignal[] }
  const methods: Method<{ signal: AbortSignal }>[] = [
    defineMethod({
      name: 'test.echo',
      summary: 'its params',
      scope: 'map:read',
      params: z.strictObject({ text: z.string().max(5_000_000) }),
      result: z.string(),
      handle: ({ text }) => text,
    }),
    defineMethod({
      name: 'test.admin',
      summary: 'needs another scope',
      scope: 'admin',
      params: z.strictObject({}),
      result: z.boolean(),
      handle: () => true,
    }),
    defineMethod({
      name: 'test.wait',
      summary: 'until the caller hangs up',
      scope: 'map:read',
      params: z.strictObject({}),
      result: z.boolean(),
      handle: (_, { signal }: { signal: AbortSignal }) =>
        new Promise<boolean>((resolve) => {
          state.signals.push(signal)
          signal.addEventListener('abort', () => resolve(true))
        }),
    }),
    defineMethod({
      name: 'test.stream',
      summary: 'a long result',
      scope: 'map:read',
      params: z.strictObject({ chunks: z.int(), failAt: z.int().optional() }),
      result: z.array(z.string()),
      handle: ({ chunks, failAt }) => streamed(longResult(chunks, failAt, state)),
    }),
  ]
  const byName = new Map(methods.map((m) => [m.name, m as Method<unknown>]))
  const api = { path: PATH, title: 'test', methods: async () => byName }
  const bodyLimits = { maxBytes: config.limits.bodyBytes, idleMs: config.limits.bodyIdleMs }
  const isDraining = () => state.isDraining
  const onFault = (_id: string, _method: string, error: unknown) => faults.push(error)
  const limiter = createRateLimiter(config.limits)
  const app = createApp({
    log: createLog('silent'),
    refusals: createLineSampler({ perMinute: 60, onLeftOut: () => undefined }),
    isDraining,
    onFault,
    clientAddress: createClientAddress(trustedProxies),
    limiter,
    tokenHeader: 'svc-session-token',
  })
  addHealthRoutes(app, { readiness, isDraining })
  addDocumentRoute(app, '/document.json', document)
  addAlertRoutes(app)
  addRpcRoutes<unknown>(app, api, {
    stores: {
      findKey: async (id) =>
        id === KEY
          ? {
              keyId: KEY,
              keyName: 'k',
              scopes: ['map:read'],
              secrets: [{ digest: hashSecret(SECRET), expiresAtUs: null }],
            }
          : undefined,
      findSession: async () => undefined,
    },
    tokenHeader: 'svc-session-token',
    limiter,
    maxBatch: config.limits.batch,
    maxDepth: config.limits.jsonDepth,
    bodyLimits,
    budget: createByteBudget({
      ...{ totalBytes: config.limits.bytesInFlight, maxWaitingPerOwner: 4, maxWaiting: 8, waitMs: 200 },
    }),
    writeIdleMs: config.limits.writeIdleMs,
    compressions: createCompressions(config.limits.compressedAnswers),
    contextOf: contextMaker({}),
    discover: async () => ({}),
    pathOf: async () => undefined,
    onFault,
    onHangUp: () => undefined,
    onSignInFailure: () => undefined,
    stopSignal: stopping.signal,
    drainSignal: stopping.signal,
  })
  const server = createHttpServer(app.fetch, config, null)
  const { port } = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.stop(0))
  return { port, faults, state, stopping, server }
}

async function* longResult(chunks: number, failAt: number | undefined, state: { streamClosed: boolean }) {
  try {
    for (let i = 0; i < chunks; i++) {
      if (i === failAt) throw new Error('the source broke')
      yield `${i === 0 ? '[' : ','}"${'x'.repeat(1000)}"`
      if (i % 100 === 0) await sleep(0)
    }
    yield ']'
  } finally {
    state.streamClosed = true
  }
}

/** Text of a JSON-RPC request. */
export const call = (method: string, params: unknown = {}, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/** Posts a body; no body text is parsed as null. */
export async function post(
  port: number,
  body: string | undefined,
  headers: Record<string, string> = HEADERS,
  path = PATH,
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) }
}

/** Sends raw bytes and returns all that comes back until the peer closes. */
export function raw(port: number, text: string, waitMs = 5000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text))
    let got = ''
    socket.on('data', (chunk) => {
      got += chunk
    })
    socket.on('close', () => resolve(got))
    socket.on('error', (error) => (got === '' ? reject(error) : resolve(got)))
    socket.setTimeout(waitMs, () => socket.destroy())
  })
}
