import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import t, { type Test } from 'tap'
import type { Settings } from '../../src/config/config.js'
import { DATAPROC, SESSION } from '../support/dataproc.js'
import { until } from '../support/models.js'
import { pairHeaders, post, startGateway } from '../support/start-gateway.js'

type Answerer = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown

/** A backend on a free port. */
async function startBackend(t: Test, answer: Answerer) {
  const seen: { path: string; headers: IncomingMessage['rawHeaders'] }[] = []
  const server = createServer((incoming, outgoing) => {
    seen.push({ path: incoming.url ?? '', headers: incoming.rawHeaders })
    void answer(incoming, outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    headersOf: (name: string) => valuesOf(seen.at(-1)?.headers ?? [], name),
  }
}

/** Every value of a header, `-` and `_` taken for the same. */
function valuesOf(raw: string[], name: string): string[] {
  const plain = (text: string) => text.toLowerCase().replaceAll('_', '-')
  return raw.filter((_, at) => at % 2 === 1 && plain(raw[at - 1] ?? '') === name)
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of incoming) text += chunk
  return text
}

const echo: Answerer = async (incoming, outgoing) => {
  const body = JSON.parse(await readAll(incoming))
  outgoing.setHeader('Content-Type', 'application/json')
  outgoing.setHeader('Set-Cookie', 'a=b')
  outgoing.end(JSON.stringify({ jsonrpc: '2.0', id: body.id ?? null, result: body }))
}

const start = (t: Test, backend: string, dataproc: Settings = {}) =>
  startGateway(t, { settings: { dataproc: { backend, ...dataproc } } })

t.test('dataproc proxy: the session is told by us and only by us, and no secret goes on', async (t) => {
  const backend = await startBackend(t, echo)
  const gateway = await start(t, backend.url)
  const { body } = await gateway.call(SESSION, 'session.open_session', {})
  const token = { 'Svc-Session-Token': body.result.access_token }
  const false_ids = {
    'Svc-Session-Id': 'false',
    svc_session_id: 'false',
    'SVC_Session-ID': 'false',
    'X-Forwarded-For': '1.2.3.4',
    Cookie: 'c=d',
    'X-Mine': 'goes on',
  }
  t.match(await gateway.call(DATAPROC, 'anything.at_all', { a: 1 }, { ...token, ...false_ids }), {
    status: 200,
    body: { id: 1, result: { method: 'anything.at_all', params: { a: 1 } } },
  })
  const [sessionId = '', ...others] = backend.headersOf('svc-session-id')
  t.match(sessionId, /^[0-9a-f-]{36}$/)
  t.not(sessionId, body.result.access_token)
  t.same(others, [])
  t.equal(backend.seen[0]?.path, '/api/v1/dataproc/jsonrpc')
  t.same(backend.headersOf('x-mine'), ['goes on'])
  for (const name of ['svc-session-token', 'cookie', 'x-forwarded-for', 'apikey', 'secret', 'authorization'])
    t.same(backend.headersOf(name), [], name)
  await gateway.call(DATAPROC, 'x', {}, { ...token })
  t.same(backend.headersOf('svc-session-id'), [sessionId], 'the same session, the same id')

  const answer = await gateway.call(DATAPROC, 'x', {}, { ...pairHeaders(gateway.admin), ...false_ids })
  t.same(backend.headersOf('svc-session-id'), [], 'no session, no id')
  for (const name of ['apikey', 'secret']) t.same(backend.headersOf(name), [], name)
  t.equal(answer.headers.get('set-cookie'), null)
  t.ok(answer.headers.get('x-request-id'))
  t.same(backend.headersOf('x-request-id'), [answer.headers.get('x-request-id')])

  await post(`${gateway.url}${DATAPROC}/call/dataproc.exec`, '{}', pairHeaders(gateway.admin))
  t.equal(backend.seen.at(-1)?.path, '/api/v1/dataproc/jsonrpc/call/dataproc.exec')
  const count = backend.seen.length
  t.equal((await gateway.call(DATAPROC, 'x', {}, {})).status, 401)
  const reader = await gateway.makeKey(['dataproc:read'])
  t.match(await gateway.call(DATAPROC, 'x', {}, pairHeaders(reader)), {
    status: 403,
    body: { error: { data: { scope: 'dataproc:write' } } },
  })
  t.equal((await fetch(`${gateway.url}${DATAPROC}`)).status, 405)
  t.equal(
    (
      await post(`${gateway.url}${DATAPROC}`, '{}', {
        ...pairHeaders(gateway.admin),
        'Content-Type': 'text/plain',
      })
    ).status,
    415,
  )
  t.equal(backend.seen.length, count, 'what is refused here never reaches the backend')
})

t.test('dataproc proxy: another prefix, a path of its own', async (t) => {
  const backend = await startBackend(t, echo)
  const gateway = await startGateway(t, {
    settings: { service: { headerPrefix: 'Xdata' }, dataproc: { backend: `${backend.url}/run/here?v=1` } },
  })
  const { body } = await gateway.call(SESSION, 'session.open_session', {})
  t.equal(
    (await gateway.call(DATAPROC, 'x', {}, { 'Xdata-Session-Token': body.result.access_token })).status,
    200,
  )
  t.equal(backend.seen[0]?.path, '/run/here?v=1')
  t.equal(backend.headersOf('xdata-session-id').length, 1)
})

t.test('dataproc proxy: faults of the backend are told apart', async (t) => {
  let answer: Answerer = echo
  const backend = await startBackend(t, (incoming, outgoing) => answer(incoming, outgoing))
  const gateway = await start(t, backend.url, { timeLimitS: 1, answerBytes: 2000, requestBytes: 5000 })
  const told = async (answerer: Answerer) => {
    answer = answerer
    const { status, body } = await gateway.call(DATAPROC, 'x', {})
    return { status, name: body.error?.data.name, message: body.error?.message }
  }
  const json = { 'Content-Type': 'application/json' }
  t.match(await told(() => undefined), {
    status: 504,
    name: 'BACKEND_TIMEOUT',
    message: /sent nothing for 1 s/,
  })
  t.match(await told((_, outgoing) => outgoing.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end()), {
    status: 502,
    name: 'BAD_BACKEND_ANSWER',
    message: /answered 302, expected an answer without redirect/,
  })
  t.match(await told((_, outgoing) => outgoing.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>')), {
    status: 502,
    message: /answered 502 with content type text\/html, expected JSON/,
  })
  t.match(await told((_, outgoing) => outgoing.writeHead(401, json).end('{}')), {
    status: 502,
    message: /asks for credentials/,
  })
  t.match(
    await told((_, outgoing) =>
      outgoing.writeHead(200, { ...json, 'Content-Length': 3000 }).end(`"${'x'.repeat(2998)}"`),
    ),
    {
      status: 502,
      message: /more than 2000 bytes \(dataproc\.answerBytes\)/,
    },
  )
  t.match(await told((incoming) => incoming.socket.end('SSH-2.0 hello\r\n\r\n')), {
    status: 502,
    name: 'BAD_BACKEND_ANSWER',
    message: /other than HTTP/,
  })
  t.match(await told((incoming) => incoming.socket.destroy()), { status: 503, name: 'BACKEND_UNREACHABLE' })
  answer = (_, outgoing) =>
    outgoing.writeHead(422, json).end('{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"theirs"}}')
  t.match(
    await gateway.call(DATAPROC, 'x', {}),
    { status: 422, body: { error: { code: 7, message: 'theirs' } } },
    'its own errors pass',
  )
  answer = (_, outgoing) => outgoing.writeHead(204).end()
  t.match(await gateway.call(DATAPROC, 'x', {}), { status: 204, body: null })
  answer = echo
  t.match(await gateway.call(DATAPROC, 'x', { a: 'x'.repeat(5000) }), {
    status: 413,
    body: { error: { data: { name: 'BODY_TOO_LARGE' } } },
  })
  // begun and not ended: the transfer breaks, so that nobody takes it for whole
  for (const broken of [
    (_: IncomingMessage, outgoing: ServerResponse) => {
      outgoing.writeHead(200, json).write('{"result":')
      setTimeout(() => outgoing.destroy(), 100)
    },
    (_: IncomingMessage, outgoing: ServerResponse) => {
      outgoing.writeHead(200, json).write('x'.repeat(1500))
      setTimeout(() => outgoing.end('x'.repeat(1500)), 100)
    },
    (_: IncomingMessage, outgoing: ServerResponse) => void outgoing.writeHead(200, json).write('{"result":'),
  ]) {
    answer = broken
    await t.rejects(gateway.call(DATAPROC, 'x', {}))
  }
  const nobody = net.createServer()
  await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve))
  const { port } = nobody.address() as AddressInfo
  await new Promise((resolve) => nobody.close(resolve))
  const lone = await start(t, `http://127.0.0.1:${port}`)
  t.match(await lone.call(DATAPROC, 'x', {}), {
    status: 503,
    body: { error: { data: { name: 'BACKEND_UNREACHABLE' }, message: /cannot be reached: .*ECONNREFUSED/ } },
  })
  t.equal((await fetch(`${lone.url}/openrpc.json`).then((r) => r.text())).includes('dataproc.exec'), false)
})

t.test('dataproc proxy: both ways are streamed', async (t) => {
  const held: { incoming?: IncomingMessage; outgoing?: ServerResponse } = {}
  const backend = await startBackend(t, (incoming, outgoing) => Object.assign(held, { incoming, outgoing }))
  const gateway = await start(t, backend.url)
  const headers = { ...pairHeaders(gateway.admin), 'Content-Type': 'application/json' }
  const call = request(`${gateway.url}${DATAPROC}`, { method: 'POST', headers })
  call.on('error', () => undefined)
  call.write('{"first"')
  await until('the backend has the beginning', () => held.incoming !== undefined)
  const got: string[] = []
  held.incoming?.on('data', (chunk) => got.push(String(chunk)))
  await until('the first piece is there before the last is sent', () => got.join('') === '{"first"')
  call.end(':1}')
  await until('all of it is there', () => got.join('') === '{"first":1}')
  const answered = new Promise<IncomingMessage>((resolve) => call.on('response', resolve))
  held.outgoing?.writeHead(200, { 'Content-Type': 'application/json' }).write('[1')
  const answer = await answered
  const pieces: string[] = []
  answer.on('data', (chunk) => pieces.push(String(chunk)))
  await until('the first piece is back before the last is written', () => pieces.join('') === '[1')
  held.outgoing?.end(',2]')
  await until('all of it is back', () => pieces.join('') === '[1,2]')
})

t.test('dataproc proxy: a caller that hangs up ends the call to the backend', async (t) => {
  let isClosed = false
  const backend = await startBackend(t, (incoming) => {
    incoming.resume()
    incoming.socket.on('close', () => {
      isClosed = true
    })
  })
  const gateway = await start(t, backend.url)
  const leave = new AbortController()
  const call = fetch(`${gateway.url}${DATAPROC}`, {
    method: 'POST',
    headers: { ...pairHeaders(gateway.admin), 'Content-Type': 'application/json' },
    body: '{}',
    signal: leave.signal,
  })
  await until('it has arrived', () => backend.seen.length === 1)
  leave.abort()
  await t.rejects(call)
  await until('the backend is told', () => isClosed)
})
