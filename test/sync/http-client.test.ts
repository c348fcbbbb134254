import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  type ClientSettings,
  type Credentials,
  createUpstreamClient,
  errorMessageIn,
  isObject,
  ownPath,
  parseObject,
} from '../../src/sync/http-client.js'
import { rejectsWith } from '../support/rejects-with.js'

const SETTINGS: ClientSettings = {
  idleTimeoutMs: 20_000,
  connectTimeoutMs: 20_000,
  maxReplyBytes: 1000,
  allowPrivate: false,
  allowLoopback: true,
  userAgent: 'fieldgate/test',
}
const KEY = { apikey: 'the key', secret: 'the secret' }
const { signal } = new AbortController()

interface SetUp {
  prefix?: string
  credentials?: Credentials | null
  settings?: Partial<ClientSettings>
}

/** A server on this machine and a client of it. `sockets` is the number of connections so far. */
async function setUp(t: Test, answer: RequestListener, options: SetUp = {}) {
  let sockets = 0
  const server = createServer(answer).on('connection', () => sockets++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { prefix = '', credentials = KEY, settings } = options
  const client = createUpstreamClient(`http://127.0.0.1:${port}${prefix}`, credentials, {
    ...SETTINGS,
    ...settings,
  })
  t.teardown(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  const get = (path = '/') => client.send({ method: 'GET', path, signal })
  return { client, get, server, sockets: () => sockets }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(request)).toString()
}

t.test('http client: sends the credentials, its name and the headers of the request', async (t) => {
  const seen: IncomingMessage['headers'][] = []
  const { client } = await setUp(t, (request, response) => {
    seen.push(request.headers)
    response.writeHead(204, { 'x-answer': 'yes' }).end()
  })
  const headers = { range: 'bytes=1-', 'user-agent': 'other' }
  const reply = await client.send({ method: 'GET', path: '/', headers, signal })
  t.match(reply, { status: 204, headers: { 'x-answer': 'yes' } })
  t.match(seen, [{ apikey: 'the key', secret: 'the secret', range: 'bytes=1-', 'user-agent': 'other' }])
})

t.test('http client: a server without credentials gets none', async (t) => {
  const seen: IncomingMessage['headers'][] = []
  const { get } = await setUp(
    t,
    (request, response) => {
      seen.push(request.headers)
      response.end()
    },
    { credentials: null },
  )
  await (await get()).discard()
  t.notOk(Object.keys(seen[0] ?? {}).some((name) => name === 'apikey' || name === 'secret'))
  t.equal(seen[0]?.['user-agent'], 'fieldgate/test')
})

t.test('http client: paths are below the prefix of the base URL, which is not repeated', async (t) => {
  const paths: (string | undefined)[] = []
  const answer: RequestListener = (request, response) => {
    paths.push(request.url)
    response.end()
  }
  for (const prefix of ['/base', '/base/', '']) {
    const { get } = await setUp(t, answer, { prefix })
    for (const asked of ['/api/x', '/base/api/x', '/basement']) await (await get(asked)).discard()
  }
  const below = ['/base/api/x', '/base/api/x', '/base/basement']
  t.same(paths, [...below, ...below, '/api/x', '/base/api/x', '/basement'])
})

t.test('http client: a body is sent as text or as it comes', async (t) => {
  const bodies: string[] = []
  const { client } = await setUp(t, async (request, response) => {
    bodies.push(await bodyOf(request))
    response.end()
  })
  const pieces = async function* () {
    yield Buffer.from('in ')
    yield Buffer.from('pieces')
  }
  for (const body of ['text', pieces()])
    await (await client.send({ method: 'POST', path: '/', body, signal })).discard()
  t.same(bodies, ['text', 'in pieces'])
})

t.test('http client: text is read up to its limit', async (t) => {
  const { get } = await setUp(t, ({ url }, response) => void response.end('ä'.repeat(Number(url?.slice(1)))))
  t.equal(await (await get('/500')).text(), 'ä'.repeat(500), 'exactly 1000 bytes')
  await rejectsWith(
    t,
    get('/501').then((reply) => reply.text()),
    'UPSTREAM_REFUSED',
    {
      message: /answered more than 1000 bytes/,
      data: { isMalformed: true },
    },
  )
})

t.test(
  'http client: a connection that breaks in the body is UPSTREAM_UNREACHABLE, after its bytes',
  async (t) => {
    const { get } = await setUp(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('first')
      setImmediate(() => response.destroy())
    })
    const chunks: string[] = []
    const read = async () => {
      for await (const chunk of (await get()).chunks()) chunks.push(Buffer.from(chunk).toString())
    }
    await rejectsWith(t, read(), 'UPSTREAM_UNREACHABLE')
    t.equal(chunks.join(''), 'first')
    await rejectsWith(
      t,
      get().then((reply) => reply.text()),
      'UPSTREAM_UNREACHABLE',
    )
  },
)

t.test(
  'http client: UPSTREAM_UNREACHABLE without an answer, the reason of the signal when it fired',
  async (t) => {
    const stopping = new AbortController()
    const { client, server } = await setUp(t, () => stopping.abort(new Error('stopped by the test')))
    const waiting = client.send({ method: 'GET', path: '/', signal: stopping.signal })
    await t.rejects(waiting, { message: 'stopped by the test' })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rejectsWith(t, client.send({ method: 'GET', path: '/', signal }), 'UPSTREAM_UNREACHABLE')
  },
)

t.test('http client: redirects are not followed', async (t) => {
  const paths: (string | undefined)[] = []
  const { get } = await setUp(t, (request, response) => {
    paths.push(request.url)
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  const reply = await get('/here')
  await reply.discard()
  t.equal(reply.status, 302)
  t.same(paths, ['/here'])
})

t.test('http client: a silent upstream is given up after the idle time', async (t) => {
  const { get } = await setUp(t, () => undefined, { settings: { idleTimeoutMs: 300 } })
  await rejectsWith(t, get(), 'UPSTREAM_UNREACHABLE', { message: /timeout/i })
  const begun = await setUp(t, (_request, response) => void response.write('a'), {
    settings: { idleTimeoutMs: 300 },
  })
  const reply = begun.get().then((got) => got.text())
  await rejectsWith(t, reply, 'UPSTREAM_UNREACHABLE', { message: /timeout/i })
})

t.test('http client: a connection is used again after a HEAD and after a discarded body', async (t) => {
  const { client, get, sockets } = await setUp(
    t,
    (_request, response) => void response.end('x'.repeat(64 * 1024)),
  )
  const used: number[] = []
  for (const ask of [() => client.send({ method: 'HEAD', path: '/', signal }), get, get, get]) {
    await (await ask()).discard()
    await turn() // the pool frees a connection after the end of its body
    used.push(sockets())
  }
  t.same(used, [1, 1, 1, 1])
})

t.test('http client: a long rest is not read: the connection is given up instead', async (t) => {
  let isClosed: () => void = () => undefined
  const closed = new Promise<void>((resolve) => {
    isClosed = resolve
  })
  const { get, sockets } = await setUp(t, (request, response) => {
    if (request.url !== '/endless') return void response.end('short')
    response.on('close', isClosed)
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024)));
    }
    response.on('drain', more)
    more()
  })
  await (await get('/endless')).discard()
  await closed
  await (await get()).discard()
  t.equal(sockets(), 2)
})

t.test('http client: a discarded body that breaks is no error', async (t) => {
  const { get } = await setUp(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('first')
    setImmediate(() => response.destroy())
  })
  await t.resolves(get().then((reply) => reply.discard()))
})

t.test('http client: at most four requests at a time', async (t) => {
  const waiting: (() => void)[] = []
  let fourth: () => void = () => undefined
  const isFull = new Promise<void>((resolve) => {
    fourth = resolve
  })
  const { get, sockets } = await setUp(t, (_request, response) => {
    waiting.push(() => void response.end())
    if (waiting.length === 4) fourth()
  })
  const replies = Array.from({ length: 6 }, async () => await (await get()).discard())
  await isFull
  t.equal(sockets(), 4)
  const timer = setInterval(() => waiting.shift()?.(), 1)
  await Promise.all(replies)
  clearInterval(timer)
  t.equal(sockets(), 4)
})

t.test('http client: an authority file that cannot be read is an error at once', async (t) => {
  const caFile = path.join(t.testdir(), 'missing.pem')
  const settings = { ...SETTINGS, caFile }
  t.throws(() => createUpstreamClient('https://up.example', KEY, settings), /ENOENT/)
})

/** Answers every request with a status and a text. */
const answering =
  (status: number, body: string | object, headers = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))

t.test('http client rpc: sends a JSON-RPC request and returns the result, also a null', async (t) => {
  const seen: unknown[] = []
  const { client } = await setUp(t, async (request, response) => {
    seen.push(request.method, request.url, request.headers['content-type'], JSON.parse(await bodyOf(request)))
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: null }))
  })
  t.equal(await client.rpc('/rpc', 'a.method', { b: 1 }, signal), null)
  t.same(seen, [
    'POST',
    '/rpc',
    'application/json',
    { jsonrpc: '2.0', id: 1, method: 'a.method', params: { b: 1 } },
  ])
})

t.test(
  'http client rpc: an error has the status that corresponds to it, or the one of the answer',
  async (t) => {
    const error = { code: -32601, message: 'no such method' }
    const found = async (status: number, body: string | object, headers = {}) =>
      (await setUp(t, answering(status, body, headers))).client.rpc('/', 'm', {}, signal)
    await rejectsWith(t, found(200, { error }), 'UPSTREAM_REFUSED', {
      message: /no such method/,
      data: { status: 404 },
    })
    await rejectsWith(t, found(503, { error }, { 'retry-after': '7' }), 'UPSTREAM_REFUSED', {
      message: /503: no such method/,
      data: { status: 503, retryAfterS: 7 },
    })
    for (const silent of [{ code: 1 }, { code: 1, message: null }])
      await rejectsWith(t, found(200, { error: silent }), 'UPSTREAM_REFUSED', {
        message: /answered 500$/,
        data: { status: 500 },
      })
  },
)

t.test('http client rpc: a status without an error, and an answer of another form', async (t) => {
  const found = async (status: number, body: string | object) =>
    (await setUp(t, answering(status, body, { 'retry-after': '8' }))).client.rpc('/', 'm', {}, signal)
  for (const body of ['busy', { result: 1 }, { error: null }, { error: 'text' }])
    await rejectsWith(t, found(429, body), 'UPSTREAM_REFUSED', {
      message: /answered 429$/,
      data: { status: 429, retryAfterS: 8 },
    })
  for (const body of ['', '<html>', '[]', '"text"', 'null', {}, { error: null }])
    await rejectsWith(t, found(200, body), 'UPSTREAM_REFUSED', {
      message: /other than JSON-RPC/,
      data: { isMalformed: true },
    })
})

t.test('ownPath: path and query of an address of the same origin, otherwise undefined', async (t) => {
  const base = 'https://up.example/base'
  t.equal(ownPath('/uploads/1?a=b#c', base), '/uploads/1?a=b')
  t.equal(ownPath('https://up.example:443/uploads/1', base), '/uploads/1')
  t.equal(ownPath('2', base), '/2')
  for (const other of [
    'http://up.example/uploads/1',
    'https://up.example:444/uploads/1',
    'https://evil.example/uploads/1',
    '//evil.example/uploads/1',
    'https://',
  ])
    t.equal(ownPath(other, base), undefined, other)
})

t.test('parseObject, isObject and errorMessageIn: objects only', async (t) => {
  t.same(parseObject('{"a":1}'), { a: 1 })
  for (const text of ['', 'x', '[]', '[{}]', 'null', '1', '"{}"']) t.equal(parseObject(text), undefined, text)
  t.same([{}, [], null, 1, undefined].map(isObject), [true, false, false, false, false])
  t.equal(errorMessageIn('{"error":{"message":"not now"}}'), 'not now')
  for (const text of ['plain', '{"error":"text"}', '{"error":{}}', '{"error":null}', '{}'])
    t.equal(errorMessageIn(text), text)
})
