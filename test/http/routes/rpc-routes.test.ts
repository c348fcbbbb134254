import http from 'node:http'
import t from 'tap'
import { call, HEADERS, KEY, PATH, post, raw, SECRET, startTransport } from '../../support/transport.js'

t.test('rpc: a call is answered with 200 and carries a request id', async (t) => {
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

t.test('rpc: the REST form answers the bare result, and problem details for faults', async (t) => {
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

t.test('rpc: a body that stalls is cut with 408', async (t) => {
  const { port } = await startTransport(t, { bodyIdleMs: 100 })
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAPIKey: ${KEY}\r\nSecret: ${SECRET}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`
  t.match(await raw(port, head, 3000), /^HTTP\/1\.1 408 [\s\S]*BODY_TIMEOUT/)
})

t.test('rpc: Expect 100-continue is answered after credentials and size are known', async (t) => {
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

t.test('rpc: chunked bodies are counted as they come', async (t) => {
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

t.test('rpc: the allowance of a key is charged per batch item, 429 with Retry-After', async (t) => {
  const { port } = await startTransport(t, { callsPerMinutePerKey: 5 })
  const batch = (n: number) =>
    `[${Array.from({ length: n }, (_, i) => call('test.echo', { text: '' }, i)).join(',')}]`
  t.equal((await post(port, batch(4))).status, 200)
  const refused = await post(port, batch(2))
  t.equal(refused.status, 429)
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal(refused.json.error.data.name, 'RATE_LIMITED')
})

t.test('rpc: too many failed sign-ins are refused with 429, right credentials never are', async (t) => {
  const { port } = await startTransport(t, { signInFailuresPerMinute: 2 })
  const wrong = { ...HEADERS, secret: 'x' }
  for (let i = 0; i < 2; i++) t.equal((await post(port, '{}', wrong)).status, 401)
  const refused = await post(port, '{}', wrong)
  t.equal(refused.status, 429)
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal((await post(port, call('test.echo', { text: '' }))).status, 200, 'from the same address')
  t.equal(
    (await post(port, '{}', { ...wrong, apikey: 'other' })).status,
    401,
    'another key has its own count',
  )
})
