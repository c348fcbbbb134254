import t from 'tap'
import { openRaw, postHead, type RawSocket } from '../support/raw-http.js'
import { pairHeaders, startGateway } from '../support/start-gateway.js'

const SESSION = '/api/v1/session/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'session.verify_session_token',
  params: { token: 'x' },
})

t.test(
  'hardening: a crowd of slow clients of every kind keeps nobody out, and is gone in the end',
  async (t) => {
    const limits = { headerMs: 1000, bodyIdleMs: 1000, bodyMs: 2000, keepAliveMs: 500, connections: 200 }
    const { url, admin, call } = await startGateway(t, { settings: { limits } })
    const kinds: ((socket: RawSocket) => void)[] = [
      () => undefined, // says nothing
      (socket) => socket.send('GET /healthz HTTP/1.1\r\nHost: x\r\n'), // never ends its headers
      (socket) => socket.send(`${postHead(SESSION, pairHeaders(admin), 1000)}{`), // never ends its body
      (socket) => socket.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'), // asks once and stays
      (socket) => socket.send(`${postHead(SESSION, {}, 10_000)}{`), // refused by its headers, goes on all the same
    ]
    const crowd = await Promise.all(Array.from({ length: 100 }, () => openRaw(url)))
    const drip = setInterval(() => {
      for (const [i, socket] of crowd.entries())
        if (i % 5 === 1 || i % 5 === 4) socket.send(i % 5 === 1 ? 'X: y\r\n' : ' ')
    }, 100)
    t.teardown(() => clearInterval(drip))
    for (const [i, socket] of crowd.entries()) kinds[i % kinds.length]?.(socket)
    const { status } = await call(SESSION, 'session.verify_session_token', { token: 'x' })
    t.equal(status, 200, 'served meanwhile')
    await Promise.all(crowd.map((socket) => socket.closed()))
    t.match(crowd[2]?.received, /^HTTP\/1\.1 408 /)
    t.match(crowd[4]?.received, /^HTTP\/1\.1 401 /)
  },
)

t.test('hardening: a flood of pipelined calls keeps nobody else waiting, and ends', async (t) => {
  const { url, admin, gateway, call } = await startGateway(t, { settings: { limits: { pipelined: 10 } } })
  const raw = await openRaw(url)
  const flood = `${postHead(SESSION, pairHeaders(admin), CALL.length)}${CALL}`.repeat(2000)
  raw.send(`${flood}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  t.equal((await call(SESSION, 'session.verify_session_token', { token: 'x' })).status, 200)
  const received = await raw.closed()
  const statuses = new Set(received.match(/HTTP\/1\.1 \d+/g))
  t.ok(statuses.size > 0 && [...statuses].every((status) => / (200|429)$/.test(status)), [...statuses].join())
  t.ok(await gateway.isAlive(10_000))
})

t.test(
  'hardening: compressed bodies are refused where they are not expected, before they are read',
  async (t) => {
    const { url, admin } = await startGateway(t)
    const paths = [SESSION, `${SESSION}/call/session.open_session`, LOADER]
    for (const path of [
      ...paths,
      '/api/v2/model_store/jsonrpc/upload/model_store.model.put',
      '/api/v2/model_store/uploads',
    ]) {
      for (const encoding of ['gzip', 'deflate', 'br', 'zstd']) {
        const type = path.includes('upload/') ? 'multipart/form-data; boundary=b' : 'application/json'
        const headers = { ...pairHeaders(admin), 'Content-Encoding': encoding, 'Content-Type': type }
        const { status } = await fetch(url + path, { method: 'POST', headers, body: 'x' })
        t.equal(status, 415, `${path} ${encoding}`)
      }
    }
    const headers = {
      ...pairHeaders(admin),
      'Content-Encoding': 'br',
      'Content-Type': 'application/x-ndjson',
    }
    const stream = await fetch(`${url}/api/v1/dataloaderapi/stream/x`, { method: 'POST', headers, body: 'x' })
    t.equal(stream.status, 415)
  },
)

t.test('hardening: a request with two Host headers is refused, whatever they say', async (t) => {
  const { url } = await startGateway(t)
  for (const hosts of [
    'Host: a\r\nHost: b',
    'Host: a\r\nHost: a',
    'host: a\r\nX: y\r\nHOST: b',
    'Host: a\r\nHost:',
  ]) {
    const socket = await openRaw(url)
    socket.send(`GET /healthz HTTP/1.1\r\n${hosts}\r\n\r\n`)
    const received = await socket.closed()
    t.match(received, /^HTTP\/1\.1 400 /, hosts)
    t.match(received, /"name":"BAD_HTTP"/)
    t.match(received, /found 2 Host headers, expected one/)
  }
})

t.test('hardening: two lengths, a length beside chunks, and broken chunks are refused', async (t) => {
  const { url, admin } = await startGateway(t)
  const credentials = `APIKey: ${admin.apiKey}\r\nSecret: ${admin.secret}\r\n`
  const head = `POST ${SESSION} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${credentials}`
  for (const rest of [
    'Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345',
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'Transfer-Encoding: chunked\r\n\r\nZZ\r\n',
    'Content-Length: -5\r\n\r\n',
  ]) {
    const raw = await openRaw(url)
    raw.send(head + rest)
    t.match(await raw.closed(), /^HTTP\/1\.1 400 [\s\S]*BAD_HTTP/, rest)
  }
})
