import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { parseExact } from '../../src/json/exact-json.js'
import { refused, unreachable } from '../../src/sync/faults.js'
import { pushMultipart, pushSmall } from '../../src/sync/push-multipart.js'
import { attemptParts, replyOf, type Step, scriptedClient } from '../support/attempts.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(5000)
const MD5 = createHash('md5').update(BYTES).digest('hex')
const DONE = replyOf(200, { model_id: 'theirs' })
const META = { b: [1, { d: null, c: 'x' }], a: true }
/** The model as a server lists it. */
const LISTED = {
  model_id: 'there before',
  model_kind: 'kind',
  model_description: 'description',
  model_meta: { a: true, b: [1, { c: 'x', d: null }] },
  model_hash: MD5.toUpperCase(),
  model_size: 5000,
}

async function setUp(
  t: Test,
  steps: Step[],
  listed: () => unknown = () => [],
  meta: Record<string, unknown> = META,
) {
  const at = await attemptParts(t)
  const model = await at.put(BYTES, { meta })
  const transfer = await at.begin('feedback')
  const queries: object[] = []
  const script = scriptedClient(steps, {
    'model_store.model.get_info': (params) => {
      queries.push(params)
      return listed()
    },
  })
  const moved = at.attemptOf(transfer, script.client)
  const push = (mayBeReceived = false) =>
    pushMultipart(at.deps, { ...moved, transfer: { ...transfer, mayBeReceived } }, model)
  const mayBeReceived = async () => (await at.state.transfers.find(transfer.transferId))?.mayBeReceived
  return {
    ...at,
    ...script,
    model,
    transfer,
    queries,
    moved: moved.moved,
    attempt: moved,
    push,
    mayBeReceived,
  }
}

t.test('push multipart: the four members of the interface and the file, with the right length', async (t) => {
  const { push, calls, requests, moved } = await setUp(t, [DONE])
  t.equal(await push(), '{"model_id":"theirs"}')
  t.same(calls, ['POST /api/v2/model_store/jsonrpc/upload/model_store.model.put'])
  const { headers = {}, body } = requests[0] ?? {}
  const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(headers['content-type'] ?? '')?.[1] ?? ''
  t.equal(headers['content-length'], String(body?.length))
  const form = await new Response(body, { headers }).formData()
  t.same([...form.keys()], ['data', 'file'])
  t.same(JSON.parse(String(form.get('data'))), {
    model_store_ddc: 'theirs',
    model_kind: 'kind',
    model_description: 'description',
    model_meta: META,
  })
  t.ok(Buffer.from(await (form.get('file') as File).arrayBuffer()).equals(BYTES))
  t.ok(body?.toString('latin1').endsWith(`\r\n--${boundary}--\r\n`))
  t.same(moved, [1000, 1000, 1000, 1000, 1000], 'only bytes of the model count')
})

t.test('push small: the data of put_feedback with the origin, whatever an earlier attempt did', async (t) => {
  const { attempt, deps, model, calls, requests, transfer } = await setUp(t, [DONE])
  const again = { ...attempt, transfer: { ...transfer, mayBeReceived: true } }
  t.equal(await pushSmall(deps, again, model), '{"model_id":"theirs"}')
  t.same(calls, ['POST /api/v2/model_store/jsonrpc/upload/model_store.model.put_feedback'])
  const { headers = {}, body } = requests[0] ?? {}
  const form = await new Response(body, { headers }).formData()
  t.match(JSON.parse(String(form.get('data'))), {
    model_store_ddc: 'theirs',
    round: 3,
    origin: { node: 'here', model_id: model.modelId, hop_count: 0, chain: ['here'] },
  })
})

t.test('push small: its errors are those of the answer', async (t) => {
  const { attempt, deps, model } = await setUp(t, [replyOf(500, 'broken')])
  await rejectsWith(t, pushSmall(deps, attempt, model), 'UPSTREAM_REFUSED', { message: /500: broken/ })
})

t.test('push multipart: that bytes were sent is noted before the first one', async (t) => {
  const { push, mayBeReceived } = await setUp(t, [
    async ({ body }) => {
      for await (const _ of body) break
      t.equal(await noted(), true)
      throw unreachable(new Error('cut'))
    },
  ])
  const noted = mayBeReceived
  await rejectsWith(t, push(), 'UPSTREAM_UNREACHABLE')
  t.equal(await mayBeReceived(), true, 'the next attempt looks for it')
})

t.test('push multipart: an attempt that sent nothing leaves the note as it was', async (t) => {
  const notConnected = () => {
    throw unreachable(new Error('refused'))
  }
  for (const before of [false, true]) {
    const { push, mayBeReceived } = await setUp(t, [notConnected])
    await rejectsWith(t, push(before), 'UPSTREAM_UNREACHABLE')
    t.equal(await mayBeReceived(), before)
  }
})

t.test(
  'push multipart: after 400 to 499 nothing was registered, after 500 and more it may have been',
  async (t) => {
    for (const [status, expected] of [
      [400, false],
      [422, false],
      [499, false],
      [500, true],
      [503, true],
      [399, true],
    ]) {
      const { push, mayBeReceived } = await setUp(t, [replyOf(Number(status), '{"error":{"message":"no"}}')])
      await rejectsWith(t, push(), 'UPSTREAM_REFUSED', { message: /: no$/, data: { status } })
      t.equal(await mayBeReceived(), expected, `status ${status}`)
    }
  },
)

t.test('push multipart: the model_info, also inside an answer of JSON-RPC', async (t) => {
  const wrapped = await setUp(t, [replyOf(200, { jsonrpc: '2.0', result: { model_id: 'in a result' } })])
  t.equal(await wrapped.push(), '{"model_id":"in a result"}')
  const created = await setUp(t, [replyOf(299, { model_id: 'made', result: 'ok' })])
  t.equal(await created.push(), '{"model_id":"made","result":"ok"}')
  for (const text of ['', 'OK', '[]', '{}', '{"model_id":1}', '{"result":{}}']) {
    const { push, mayBeReceived } = await setUp(t, [replyOf(200, text)])
    await rejectsWith(t, push(), 'UPSTREAM_REFUSED', { message: /other than a model_info/ })
    t.equal(await mayBeReceived(), true)
  }
  for (const status of [199, 300]) {
    const { push } = await setUp(t, [replyOf(status, { model_id: 'm' }, { 'retry-after': '3' })])
    await rejectsWith(t, push(), 'UPSTREAM_REFUSED', { data: { status, retryAfterS: 3 } })
  }
})

t.test('push multipart: a model of a lost answer is found by its digest and not sent again', async (t) => {
  const { push, calls, queries } = await setUp(t, [], () => [LISTED])
  t.match(JSON.parse(await push(true)), { model_id: 'there before' })
  t.same(calls, ['model_store.model.get_info'])
  t.match(queries, [
    {
      model_store_ddc: 'theirs',
      conds: { '=': ['model_hash', MD5] },
      order: 'start_datetime',
      limit: 100,
    },
  ])
})

t.test('push multipart: the list is not read when no answer was lost', async (t) => {
  const { push, calls } = await setUp(t, [DONE], () => [LISTED])
  await push()
  t.same(calls, ['POST /api/v2/model_store/jsonrpc/upload/model_store.model.put'])
})

t.test('push multipart: a model that differs in one member is another one', async (t) => {
  for (const change of [
    { model_hash: 'ab'.repeat(16) },
    { model_size: 4999 },
    { model_kind: 'other' },
    { model_description: 'other' },
    { model_meta: { ...META, a: false } },
    { model_meta: { ...META, b: [{ d: null, c: 'x' }, 1] } },
    { model_meta: { ...META, b: [1, { d: null }] } },
    { model_meta: { ...META, b: { 0: 1, 1: { d: null, c: 'x' } } } },
    { model_meta: {} },
  ]) {
    const { push } = await setUp(t, [DONE], () => [{ ...LISTED, ...change }])
    t.equal(await push(true), '{"model_id":"theirs"}', JSON.stringify(change))
  }
})

t.test('push multipart: a number that a server rounded to a double is the same number', async (t) => {
  const exact = parseExact('{"n":12345678901234567890}') as Record<string, unknown>
  for (const [text, isFound] of [
    ['{"n":12345678901234567000}', true], // the same double
    ['{"n":12345678901234569000}', false],
  ] as const) {
    const { push } = await setUp(t, [DONE], () => [{ ...LISTED, model_meta: parseExact(text) }], exact)
    t.equal(JSON.parse(await push(true)).model_id, isFound ? 'there before' : 'theirs', text)
  }
})

t.test('push multipart: the model of another delivered transfer is not this one', async (t) => {
  const at = await setUp(t, [DONE], () => [LISTED, { ...LISTED, model_id: 'second' }])
  const earlier = await at.state.transfers.queueFeedback(
    await at.put(BYTES, { state: 20 }),
    at.upstream.upstreamId,
  )
  await at.state.transfers.deliver(earlier.transferId, '{"model_id":"there before"}')
  t.match(JSON.parse(await at.push(true)), { model_id: 'second' })
})

t.test('push multipart: a server without a list, or that forbids it, gets the model again', async (t) => {
  for (const status of [404, 405, 403]) {
    const { push, calls } = await setUp(t, [DONE], () => refused(status, ''))
    t.equal(await push(true), '{"model_id":"theirs"}')
    t.equal(calls.length, 2, `status ${status}`)
  }
  for (const status of [401, 500]) {
    const { push, calls } = await setUp(t, [], () => refused(status, ''))
    await rejectsWith(t, push(true), 'UPSTREAM_REFUSED', { data: { status } })
    t.equal(calls.length, 1, 'it might be there, so it is not sent')
  }
})

t.test('push multipart: MODEL_DAMAGED, and no request, when the bytes are not on disk', async (t) => {
  const { push, deps, model, calls, mayBeReceived } = await setUp(t, [])
  await deps.blobs.remove(model.sha256)
  await rejectsWith(t, push(), 'MODEL_DAMAGED', { data: { model_id: model.modelId } })
  t.same(calls, [])
  t.equal(await mayBeReceived(), false)
})

t.test('push multipart: the file is closed after a request that did not read it', async (t) => {
  const { attempt, deps, model } = await setUp(t, [
    () => {
      throw unreachable(new Error('refused'))
    },
  ])
  let isClosed = false
  const open: typeof deps.blobs.open = async (...args) => {
    const source = await deps.blobs.open(...args)
    if (source === undefined) return undefined
    const watched: typeof source = {
      next: () => source.next(),
      async return() {
        isClosed = true
        return (await source.return?.()) ?? { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => watched,
    }
    return watched
  }
  await rejectsWith(
    t,
    pushSmall({ ...deps, blobs: { ...deps.blobs, open } }, attempt, model),
    'UPSTREAM_UNREACHABLE',
  )
  t.equal(isClosed, true)
})

t.test('push multipart: a pause does not interrupt it, because its bytes would be lost', async (t) => {
  const { push, gate } = await setUp(t, [DONE])
  gate.reason = 'paused'
  t.equal(await push(), '{"model_id":"theirs"}')
})
