import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import { type KeyPair, pairHeaders, post, startGateway } from '../support/start-gateway.js'

/**
 * Runs the pairs of `fixtures/jsonrpc.json` over real HTTP. A pair says what the specification (its section)
 * or prudence asks, what is sent, and what must come back.
 */
interface Pair {
  section: string
  says: string
  /** one of these is the body */
  send?: unknown
  sendText?: string
  sendBase64?: string
  /** texts with how often each is repeated */
  sendParts?: [text: string, times: number][]
  /** whose credentials: the admin's unless said otherwise */
  key?: 'narrow' | 'none'
  /** HTTP status, 200 unless said otherwise */
  http?: number
  answer: Expected | Expected[] | { count: number; each: Expected } | null
}

interface Expected {
  jsonrpc: '2.0'
  result?: unknown
  /** members that the result must have */
  resultHas?: object
  error?: ExpectedError
  id?: unknown
  idParts?: [text: string, times: number][]
}

interface ExpectedError {
  code: number
  name: string
  /** found in the message */
  message?: string
  /** paths of the faults, in order */
  faults?: string[]
  /** longest answer */
  maxBytes?: number
}

const PATH = '/api/v1/session/jsonrpc'

t.test('JSON-RPC over HTTP: every pair of the data file', async (t) => {
  const pairs = JSON.parse(readFileSync('test/fixtures/jsonrpc.json', 'utf8')) as Pair[]
  t.ok(pairs.length >= 80, `${pairs.length} pairs`)
  const gateway = await startGateway(t)
  const keys = { admin: gateway.admin, narrow: await gateway.makeKey(['session:read']), none: null }
  for (const pair of pairs) {
    await t.test(`JSON-RPC ${pair.section}: ${pair.says}`, async (t) => {
      const answer = await send(gateway.url, bodyOf(pair), keys[pair.key ?? 'admin'])
      t.equal(answer.status, pair.http ?? 200, 'HTTP status')
      check(t, answer, pair.answer)
    })
  }
  const faults = gateway.logLines.filter((line) => line.level === 'error')
  t.same(faults, [], 'nothing failed inside the gateway')
  const health = await fetch(`${gateway.url}/healthz`)
  t.equal(health.status, 200, 'the gateway lives')
})

const rpc = (method: string, params: unknown, id?: unknown) => ({
  jsonrpc: '2.0',
  method,
  params,
  ...(id === undefined ? {} : { id }),
})

t.test(
  'JSON-RPC over HTTP: a notification is carried out, also within a batch, in the order of the batch',
  async (t) => {
    const gateway = await startGateway(t)
    const open = async () =>
      (await gateway.call(PATH, 'session.open_session', {})).body.result.access_token as string
    const isActive = async (token: string) =>
      (await gateway.call(PATH, 'session.verify_session_token', { token })).body.result.active as boolean
    const [alone, batched] = [await open(), await open()]
    t.same([await isActive(alone), await isActive(batched)], [true, true])
    const notification = Buffer.from(JSON.stringify(rpc('session.close_session', { token: alone })))
    t.match(await send(gateway.url, notification, gateway.admin), { status: 204, text: '' })
    t.equal(await isActive(alone), false)
    const verify = (id: number) => rpc('session.verify_session_token', { token: batched }, id)
    const batch = [verify(1), rpc('session.close_session', { token: batched }), verify(2)]
    const { text } = await send(gateway.url, Buffer.from(JSON.stringify(batch)), gateway.admin)
    t.match(JSON.parse(text), [
      { id: 1, result: { active: true } },
      { id: 2, result: { active: false } },
    ])
  },
)

t.test(
  'JSON-RPC over HTTP: the allowance is charged per batch item; 429 tells when to come again',
  async (t) => {
    const gateway = await startGateway(t, { settings: { limits: { callsPerMinutePerKey: 10 } } })
    const key = await gateway.makeKey(['session:read'])
    const call = (id: number) => rpc('session.verify_session_token', { token: 'x' }, id)
    const batch = Array.from({ length: 9 }, (_, id) => call(id))
    const headers = pairHeaders(key)
    t.equal((await post(gateway.url + PATH, JSON.stringify(batch), headers)).status, 200)
    t.equal((await post(gateway.url + PATH, JSON.stringify(call(10)), headers)).status, 200)
    const refused = await post(gateway.url + PATH, JSON.stringify(call(11)), headers)
    t.match(refused, { status: 429, body: { id: 11, error: { code: 1009, data: { name: 'RATE_LIMITED' } } } })
    t.match(refused.headers.get('retry-after'), /^[1-9]\d?$/)
    const asBatch = await post(gateway.url + PATH, JSON.stringify([call(12)]), headers)
    t.match(asBatch, { status: 429, body: { id: null, error: { code: 1009 } } })
    t.equal(
      (await gateway.call(PATH, 'session.verify_session_token', { token: 'x' })).status,
      200,
      'other keys go on',
    )
  },
)

t.test('JSON-RPC over HTTP: a session token signs in as its key, until the key is revoked', async (t) => {
  const gateway = await startGateway(t)
  const key = await gateway.makeKey(['session:write'])
  const opened = await gateway.call(PATH, 'session.open_session', { expires_in: 100 }, pairHeaders(key))
  const header = { 'Svc-Session-Token': opened.body.result.access_token }
  const inner = await gateway.call(PATH, 'session.open_session', { expires_in: 1000 }, header)
  t.ok(inner.body.result.expires_in <= 100, 'a session opened through it ends no later')
  const beside = { ...pairHeaders(key), 'Svc-Session-Token': 'wrong' }
  t.equal(
    (await gateway.call(PATH, 'session.open_session', {}, beside)).status,
    401,
    'a wrong token beside a good key',
  )
  await gateway.revokeKey(key.apiKey)
  for (const token of [header, { 'Svc-Session-Token': inner.body.result.access_token }]) {
    const refused = await gateway.call(PATH, 'session.verify_session_token', { token: 'x' }, token)
    t.match(refused, {
      status: 401,
      body: { id: null, error: { code: 1001, data: { name: 'UNAUTHENTICATED' } } },
    })
  }
})

interface HttpAnswer {
  status: number
  text: string
  type: string | undefined
  requestId: string
}

function bodyOf({ send, sendText, sendBase64, sendParts }: Pair): Buffer {
  if (sendText !== undefined) return Buffer.from(sendText, 'utf8')
  if (sendBase64 !== undefined) return Buffer.from(sendBase64, 'base64')
  if (sendParts !== undefined) return Buffer.from(textOf(sendParts), 'utf8')
  return Buffer.from(JSON.stringify(send), 'utf8')
}

function textOf(parts: [text: string, times: number][]): string {
  return parts.map(([text, times]) => text.repeat(times)).join('')
}

/** `fetch` would not do: it is not to mend or refuse anything on the way. */
function send(url: string, body: Buffer, key: KeyPair | null): Promise<HttpAnswer> {
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    ...(key === null ? {} : pairHeaders(key)),
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${PATH}`, { method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)),
          type: response.headers['content-type'],
          requestId: String(response.headers['x-request-id']),
        })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

function check(t: Test, answer: HttpAnswer, expected: Pair['answer']): void {
  t.match(answer.requestId, /^[0-9a-f-]{36}$/, 'X-Request-Id')
  if (expected === null) {
    t.equal(answer.text, '', 'nothing to say')
    return
  }
  t.match(answer.type, /^application\/json/, 'content type')
  const found: unknown = JSON.parse(answer.text)
  const each = Array.isArray(expected)
    ? expected
    : 'count' in expected
      ? Array(expected.count).fill(expected.each)
      : null
  if (each === null) {
    checkOne(t, found, expected as Expected, answer)
    return
  }
  if (!Array.isArray(found)) {
    t.fail(`expected an array, found ${answer.text.slice(0, 200)}`)
    return
  }
  t.equal(found.length, each.length, 'answers of the batch')
  for (const [index, one] of each.entries()) checkOne(t, found[index], one, answer)
}

/** What section 5 says of every answer, then what the pair says of this one. */
function checkOne(t: Test, found: unknown, expected: Expected, { text, requestId }: HttpAnswer): void {
  const { jsonrpc, result, error, id, ...rest } = found as Record<string, unknown>
  t.same(rest, {}, 'no further members')
  t.equal(jsonrpc, '2.0')
  t.not('result' in (found as object), 'error' in (found as object), 'either a result or an error')
  t.same(id, expected.idParts === undefined ? expected.id : textOf(expected.idParts), 'id')
  t.equal(typeof id, typeof (expected.idParts === undefined ? expected.id : ''), 'type of the id')
  if (expected.error === undefined) {
    if (expected.resultHas === undefined) t.strictSame(result, expected.result)
    else t.match(result, expected.resultHas)
    return
  }
  checkError(t, error, expected.error, requestId)
  t.ok(text.length <= (expected.error.maxBytes ?? 60_000), `${text.length} characters`)
}

function checkError(t: Test, found: unknown, expected: ExpectedError, requestId: string): void {
  const { code, message, data, ...rest } = (found ?? {}) as Record<string, unknown>
  t.same(rest, {}, 'no further members of the error')
  t.equal(code, expected.code, 'code')
  t.ok(typeof message === 'string' && message.length > 0 && message.isWellFormed(), 'a message')
  if (expected.message !== undefined && !String(message).includes(expected.message)) {
    t.fail(`the message ${JSON.stringify(message)} does not say ${JSON.stringify(expected.message)}`)
  }
  const { name, requestId: told, faults } = data as Record<string, unknown>
  t.equal(name, expected.name, 'name')
  t.equal(told, requestId, 'the request id of the header')
  if (expected.faults !== undefined) {
    t.same(
      (faults as { path: string }[]).map((fault) => fault.path),
      expected.faults,
    )
  }
}
