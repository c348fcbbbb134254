import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { z } from 'zod'
import { formatSecret, hashSecret } from '../../../src/auth/secret.js'
import { loadConfig, type Settings } from '../../../src/config.js'
import { AppError } from '../../../src/errors.js'
import { createRateLimiter } from '../../../src/http/rate-limit.js'
import { createRoutes, type RoutesDeps } from '../../../src/http/routes.js'
import { createHttpServer } from '../../../src/http/server/server.js'
import { createLog } from '../../../src/log.js'
import { defineMethod, type Method } from '../../../src/rpc/define-method.js'
import { streamed } from '../../../src/rpc/result.js'

const KEY = '11111111-2222-4333-8444-555555555555'
const SECRET = formatSecret(new Uint8Array(32).fill(7))
const PATH = '/api/v1/test/jsonrpc'
const HEADERS = { apikey: KEY, secret: SECRET, 'content-type': 'application/json' }

/** A gateway's transport around a few methods that show what it does. */
async function startTransport(
  t: { teardown(work: () => unknown): unknown },
  limits: Settings = {},
  overrides: Partial<RoutesDeps<unknown>> = {},
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
  const api = {
    path: PATH,
    title: 'test',
    methods: new Map(methods.map((m) => [m.name, m as Method<unknown>])),
  }
  const bodyLimits = { maxBytes: config.limits.bodyBytes, idleMs: config.limits.bodyIdleMs }
  const app = createRoutes<unknown>({
    apis: [api],
    bodyAnswerers: new Map(),
    log: createLog('silent'),
    stores: {
      findKey: async (id) =>
        id === KEY
          ? { keyId: KEY, keyName: 'k', scopes: ['map:read'], secretHashes: [hashSecret(SECRET)] }
          : undefined,
      findSession: async () => undefined,
    },
    tokenHeader: 'svc-session-token',
    limiter: createRateLimiter(config.limits),
    maxBatch: config.limits.batch,
    maxDepth: config.limits.jsonDepth,
    bodyLimits,
    writeIdleMs: config.limits.writeIdleMs,
    contextOf: (call) => call,
    discover: () => ({}),
    openRpc: () => ({ openrpc: '1.4.0' }),
    onFault: (_id, _method, error) => faults.push(error),
    onHangUp: () => undefined,
    onSignInFailure: () => undefined,
    stopSignal: stopping.signal,
    readiness: () => [{ part: 'database', isReady: true }],
    isDraining: () => state.isDraining,
    addRoutes: () => undefined,
    ...overrides,
  })
  const server = createHttpServer(app.fetch as Parameters<typeof createHttpServer>[0], config.limits, null)
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

const call = (method: string, params: unknown = {}, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

async function post(
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
function raw(port: number, text: string, waitMs = 5000): Promise<string> {
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

t.test('http: a call is answered with 200 and carries a request id', async (t) => {
  const { port } = await startTransport(t)
  const own = await post(port, call('test.echo', { text: 'あ' }), {
    ...HEADERS,
    'x-request-id': 'site-7.a_b',
  })
  t.equal(own.status, 200)
  t.same(own.json, { jsonrpc: '2.0', result: 'あ', id: 1 })
  t.equal(own.headers.get('x-request-id'), 'site-7.a_b')
  const insane = await post(port, call('test.echo', { text: '' }), { ...HEADERS, 'x-request-id': 'a b<c>' })
  t.match(insane.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
})

t.test('http: every refusal has its status, a JSON-RPC error body and the request id', async (t) => {
  const { port } = await startTransport(t, { bodyBytes: 2048 })
  const url = `http://127.0.0.1:${port}`
  const json = async (response: Response) => ({
    status: response.status,
    name: ((await response.json()) as { error: { data: { name: string } } }).error.data.name,
    id: response.headers.get('x-request-id'),
  })
  const cases: [string, Promise<Response>, number, string][] = [
    [
      'no credentials',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'wrong secret',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { ...HEADERS, secret: 'x' } }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'bad token beside a good key',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { ...HEADERS, 'svc-session-token': 'x' } }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'lacking scope',
      fetch(url + PATH, { method: 'POST', body: call('test.admin'), headers: HEADERS }),
      403,
      'FORBIDDEN',
    ],
    ['unknown path', fetch(`${url}/nowhere`), 404, 'NOT_FOUND'],
    ['GET on an API', fetch(url + PATH), 405, 'METHOD_NOT_ALLOWED'],
    [
      'too large',
      fetch(url + PATH, {
        method: 'POST',
        body: call('test.echo', { text: 'x'.repeat(3000) }),
        headers: HEADERS,
      }),
      413,
      'BODY_TOO_LARGE',
    ],
    [
      'wrong content type',
      fetch(url + PATH, {
        method: 'POST',
        body: '{}',
        headers: { ...HEADERS, 'content-type': 'text/plain' },
      }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    [
      'compressed body',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { ...HEADERS, 'content-encoding': 'gzip' } }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['not JSON', fetch(url + PATH, { method: 'POST', body: '{', headers: HEADERS }), 400, 'PARSE_ERROR'],
    ['alert', fetch(`${url}/api/v1/alertapi/socket.io/`), 501, 'ALERT_UNAVAILABLE'],
  ]
  for (const [title, response, status, name] of cases) {
    const found = await json(await response)
    t.match(found, { status, name, id: /.+/ }, title)
  }
})

t.test('http: health and OpenRPC are answered without credentials, to GET alone', async (t) => {
  const { port } = await startTransport(
    t,
    {},
    {
      readiness: () => [
        { part: 'database', isReady: true },
        { part: 'clock', isReady: true, isWarning: true, reason: 'it is behind the last recorded time' },
      ],
    },
  )
  const url = `http://127.0.0.1:${port}`
  t.same(await (await fetch(`${url}/healthz`)).json(), { status: 'alive' })
  t.same(await (await fetch(`${url}/openrpc.json`)).json(), { openrpc: '1.4.0' })
  const ready = await fetch(`${url}/readyz`)
  t.equal(ready.status, 200, 'a warning keeps nothing from being ready')
  t.match(await ready.json(), { status: 'ready', parts: [{}, { isWarning: true, reason: /behind/ }] })
  for (const path of ['/healthz', '/readyz', '/openrpc.json']) {
    const refused = await fetch(url + path, { method: 'POST' })
    t.match([refused.status, refused.headers.get('allow')], [405, 'GET'], path)
  }
})

t.test('http: out of disk is 503 with Retry-After', async (t) => {
  const { port } = await startTransport(
    t,
    {},
    {
      openRpc() {
        throw new AppError('DISK_FULL')
      },
    },
  )
  const refused = await fetch(`http://127.0.0.1:${port}/openrpc.json`)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '60', 'somebody has to make room first')
  t.match(await refused.json(), { error: { data: { name: 'DISK_FULL' } } })
})

t.test('http: a WebSocket handshake for alerts gets 501 with a body', async (t) => {
  const { port } = await startTransport(t)
  const answer = await raw(
    port,
    'GET /api/v1/alertapi/socket.io/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    1000,
  )
  t.match(answer, /^HTTP\/1\.1 501 /)
  t.match(answer, /ALERT_UNAVAILABLE/)
})

t.test(
  'http: unreadable requests, headers too large and slow headers get JSON bodies from the socket',
  async (t) => {
    const { port } = await startTransport(t, { headerBytes: 4096, headerMs: 200 })
    t.match(await raw(port, 'NONSENSE\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*BAD_HTTP/)
    t.match(
      await raw(port, 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 400 [\s\S]*X-Request-Id: [\s\S]*BAD_HTTP/i,
      'no Host header',
    )
    t.match(
      await raw(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(8000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 [\s\S]*HEADERS_TOO_LARGE/,
    )
    t.match(await raw(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n'), /^HTTP\/1\.1 408 [\s\S]*BODY_TIMEOUT/)
  },
)

t.test('http: a body that stalls is cut with 408', async (t) => {
  const { port } = await startTransport(t, { bodyIdleMs: 100 })
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAPIKey: ${KEY}\r\nSecret: ${SECRET}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`
  t.match(await raw(port, head, 3000), /^HTTP\/1\.1 408 [\s\S]*BODY_TIMEOUT/)
})

t.test('http: Expect 100-continue is answered after credentials and size are known', async (t) => {
  const { port } = await startTransport(t, { bodyBytes: 2048 })
  const head = (secret: string, length: number) =>
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAPIKey: ${KEY}\r\nSecret: ${secret}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`
  t.match(
    await raw(port, head('wrong', 100), 500),
    /^HTTP\/1\.1 401 /,
    'a refused caller never sends the body',
  )
  t.match(await raw(port, head(SECRET, 5000), 500), /^HTTP\/1\.1 413 /)
  t.match(await raw(port, head(SECRET, 10), 500), /^HTTP\/1\.1 100 Continue/)
})

t.test('http: chunked bodies are counted as they come', async (t) => {
  const { port } = await startTransport(t, { bodyBytes: 2048 })
  const status = await new Promise((resolve, reject) => {
    const request = http.request(
      { port, host: '127.0.0.1', path: PATH, method: 'POST', headers: HEADERS },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      },
    )
    request.on('error', reject)
    for (let i = 0; i < 10; i++) request.write('x'.repeat(1000))
    request.end()
  })
  t.equal(status, 413)
})

t.test('http: the allowance of a key is charged per batch item, 429 with Retry-After', async (t) => {
  const { port } = await startTransport(t, { callsPerMinutePerKey: 5 })
  const batch = (n: number) =>
    `[${Array.from({ length: n }, (_, i) => call('test.echo', { text: '' }, i)).join(',')}]`
  t.equal((await post(port, batch(4))).status, 200)
  const refused = await post(port, batch(2))
  t.equal(refused.status, 429)
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal(refused.json.error.data.name, 'RATE_LIMITED')
})

t.test('http: after too many failed sign-ins an address must wait, also with the right secret', async (t) => {
  const { port } = await startTransport(t, { signInFailuresPerMinute: 2 })
  for (let i = 0; i < 2; i++) t.equal((await post(port, '{}', { ...HEADERS, secret: 'x' })).status, 401)
  t.equal((await post(port, call('test.echo', { text: '' }))).status, 429)
})

t.test('http: the REST form answers the bare result, and problem details for faults', async (t) => {
  const { port } = await startTransport(t)
  const good = await post(port, '{"text":"x"}', HEADERS, `${PATH}/call/test.echo`)
  t.same([good.status, good.json], [200, 'x'])
  const bad = await post(port, '{"text":7}', HEADERS, `${PATH}/call/test.echo`)
  t.equal(bad.status, 400)
  t.equal(bad.headers.get('content-type'), 'application/problem+json')
  t.match(bad.json, { name: 'INVALID_PARAMS', code: -32602, status: 400, faults: [{ path: '$.text' }] })
  const get = await fetch(`http://127.0.0.1:${port}${PATH}/call/test.echo`)
  t.equal(get.status, 405)
  t.equal(get.headers.get('content-type'), 'application/problem+json')
  t.match(await get.json(), { name: 'METHOD_NOT_ALLOWED', allow: 'POST' })
  t.equal((await post(port, '{}', HEADERS, `${PATH}/call/test.none`)).status, 404)
  t.equal((await post(port, '{}', HEADERS, `${PATH}/call/test.admin`)).status, 403)
})

t.test(
  'http: a long result is streamed whole; a source that fails on the way breaks the transfer and is logged',
  async (t) => {
    const { port, faults } = await startTransport(t)
    const whole = await post(port, call('test.stream', { chunks: 3000 }))
    t.equal(whole.json.result.length, 3000)
    const early = await post(port, call('test.stream', { chunks: 10, failAt: 0 }))
    t.equal(early.json.error.data.name, 'INTERNAL')
    t.notMatch(JSON.stringify(early.json), /the source broke/)
    await t.rejects(post(port, call('test.stream', { chunks: 3000, failAt: 2000 })))
    t.match(faults.map(String), ['Error: the source broke', 'Error: the source broke'])
  },
)

t.test('http: a caller who hangs up cancels the call and closes the stream', async (t) => {
  const { port, state } = await startTransport(t)
  const gone = new AbortController()
  const waiting = fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: 'POST',
    headers: HEADERS,
    body: call('test.wait'),
    signal: gone.signal,
  })
  while (state.signals.length === 0) await sleep(5)
  gone.abort()
  await t.rejects(waiting)
  const signal = state.signals[0] as AbortSignal
  while (!signal.aborted) await sleep(5)
  t.ok(signal.aborted)
  const reader = await fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: 'POST',
    headers: HEADERS,
    body: call('test.stream', { chunks: 100_000 }),
  })
  await reader.body?.cancel()
  while (!state.streamClosed) await sleep(5)
  t.ok(state.streamClosed)
})

t.test('http: a client that stops reading is cut', async (t) => {
  const { port, state } = await startTransport(t, { writeIdleMs: 200 })
  const body = call('test.stream', { chunks: 100_000 })
  const socket = net.connect(port, '127.0.0.1', () =>
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAPIKey: ${KEY}\r\nSecret: ${SECRET}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ),
  )
  socket.pause()
  t.teardown(() => socket.destroy())
  while (!state.streamClosed) await sleep(10)
  t.ok(state.streamClosed)
})

t.test(
  'http: while draining calls get 503 with Retry-After and health goes on; stopping ends running calls',
  async (t) => {
    const { port, state, stopping, server } = await startTransport(t)
    const running = post(port, call('test.wait'))
    while (state.signals.length === 0) await sleep(5)
    state.isDraining = true
    const refused = await post(port, call('test.echo', { text: '' }))
    t.equal(refused.status, 503)
    t.ok(refused.headers.get('retry-after'))
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
    t.equal(ready.status, 503)
    t.match(await ready.json(), { status: 'not ready', draining: true })
    t.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    const half = net.connect(port, '127.0.0.1')
    half.write('GET /healthz HTTP/1.1\r\n')
    t.teardown(() => half.destroy())
    const stopped = server.stop(600_000)
    const late = await raw(port, `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
    t.match(late, /^HTTP\/1\.1 503 [\s\S]*UNAVAILABLE/, 'a new connection is answered while a call runs')
    t.match(late, /^Retry-After: 5\r$/im)
    t.match(late, /^Connection: close\r$/im)
    t.match(await raw(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 200 /)
    stopping.abort(new AppError('CANCELLED'))
    const ended = await running
    t.equal(ended.json.result, true)
    t.equal(ended.headers.get('connection'), 'close')
    await stopped
    await t.rejects(fetch(`http://127.0.0.1:${port}/healthz`))
  },
)
