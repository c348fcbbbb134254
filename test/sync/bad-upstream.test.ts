import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { type FakeUpstream, infoOf, type ReceivedModel, startFakeUpstream } from '../support/fake-upstream.js'
import { connect, FL, LOCAL_SYNC, putModel, transfersOf, until } from '../support/models.js'
import { startGateway } from '../support/start-gateway.js'

type Fault = (response: ServerResponse, store: () => ReceivedModel) => void

/** What an upstream does to the first upload, once or for ever, and what becomes of that model. */
const TABLE: {
  what: string
  fault: Fault
  isForEver?: boolean
  becomes: 'delivered' | 'failed' | 'queued'
}[] = [
  { what: '500 once', fault: (r) => r.writeHead(500).end('oops'), becomes: 'delivered' },
  { what: '500 for ever', fault: (r) => r.writeHead(500).end('oops'), isForEver: true, becomes: 'queued' },
  {
    what: '503 with Retry-After',
    fault: (r) => r.writeHead(503, { 'retry-after': '1' }).end(),
    becomes: 'delivered',
  },
  { what: '401 once', fault: (r) => r.writeHead(401).end(), becomes: 'delivered' },
  {
    what: '429 with Retry-After',
    fault: (r) => r.writeHead(429, { 'retry-after': '0' }).end(),
    becomes: 'delivered',
  },
  { what: '408 once', fault: (r) => r.writeHead(408).end(), becomes: 'delivered' },
  { what: '413', fault: (r) => r.writeHead(413).end(), isForEver: true, becomes: 'failed' },
  {
    what: '422 with a JSON-RPC error',
    fault: (r) => r.writeHead(422).end('{"error":{"message":"no\\u0007 thanks"}}'),
    isForEver: true,
    becomes: 'failed',
  },
  {
    what: 'a redirect',
    fault: (r) => r.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    isForEver: true,
    becomes: 'failed',
  },
  { what: 'hangs before headers', fault: () => undefined, becomes: 'delivered' },
  {
    what: 'hangs after headers',
    fault: (r) => r.writeHead(200, { 'content-length': '10' }).flushHeaders(),
    becomes: 'delivered',
  },
  { what: 'garbage', fault: (r) => r.writeHead(200).end('<html>hello</html>'), becomes: 'delivered' },
  { what: 'an endless answer', fault: endless, becomes: 'delivered' },
  {
    what: 'takes it but loses the reply',
    fault: (r, store) => {
      store()
      r.destroy()
    },
    becomes: 'delivered',
  },
  {
    what: 'takes it, then 500',
    fault: (r, store) => {
      store()
      r.writeHead(500).end()
    },
    becomes: 'delivered',
  },
  {
    what: 'takes it, answers garbage',
    fault: (r, store) => {
      store()
      r.writeHead(200).end('ok')
    },
    becomes: 'delivered',
  },
  { what: 'takes it, cuts the answer', fault: cutAnswer, becomes: 'delivered' },
  { what: 'cuts the connection', fault: (r) => r.destroy(), becomes: 'delivered' },
]

for (const { what, fault, isForEver = false, becomes } of TABLE) {
  t.test(`bad upstream: ${what}: ${becomes}, nothing twice, others pass`, async (t) => {
    const fake = await startFakeUpstream({ hasGetInfo: true })
    t.teardown(() => fake.close())
    const gateway = await startGateway(t, {
      settings: { sync: { ...LOCAL_SYNC, idleTimeoutS: 1, replyBytes: 20_000 } },
    })
    await connect(gateway, fake)
    spoil(fake, fault, isForEver)
    const first = await putModel(gateway, randomBytes(20_000), { data: { model_kind: 'first' } })
    const others = []
    for (let i = 0; i < 3; i++)
      others.push(await putModel(gateway, randomBytes(1000), { data: { model_kind: `${i}` } }))
    const stateOf = async (modelId: string) =>
      (await transfersOf(gateway, { conds: { '=': ['model_id', modelId] } }))[0]
    for (const other of others)
      await until('the others arrive', async () => (await stateOf(other.body.model_id)).state === 'delivered')
    if (becomes === 'queued') t.match((await stateOf(first.body.model_id)).state, /queued|sending/)
    else await until(`it is ${becomes}`, async () => (await stateOf(first.body.model_id)).state === becomes)
    const { last_error } = await stateOf(first.body.model_id)
    if (becomes === 'failed') t.match(last_error, /^The upstream answered \d{3}/)
    t.notOk(
      [...(last_error ?? '')].some((char) => char < ' '),
      'control characters stay out',
    )
    const kinds = fake.models.map(({ data }) => data.model_kind).sort()
    const expected = ['0', '1', '2', ...(becomes === 'delivered' ? ['first'] : [])]
    t.same(kinds, expected, 'each arrived once')
  })
}

t.test('bad upstream: a foreign server without get_info gets each model, in order', async (t) => {
  const fake = await startFakeUpstream({ hasGetInfo: false })
  t.teardown(() => fake.close())
  const gateway = await startGateway(t, { settings: { sync: LOCAL_SYNC } })
  await connect(gateway, fake, { upstream_model_store_ddc: 'there' })
  const ids = []
  for (let i = 0; i < 5; i++)
    ids.push(
      (
        await putModel(gateway, randomBytes(300_000 - i), {
          data: { model_kind: `${i}`, model_meta: { ä: [i] } },
        })
      ).body,
    )
  await until('all arrive', () => fake.models.length === 5)
  t.same(
    fake.models.map(({ data }) => data),
    ids.map((info, i) => ({
      model_store_ddc: 'there',
      model_kind: `${i}`,
      model_description: info.model_description,
      model_meta: { ä: [i] },
    })),
    'exactly the four members of the interface, first in, first out',
  )
  t.same(
    fake.models.map((model) => model.model_hash),
    ids.map((info) => info.model_hash),
  )
  const { body } = await gateway.call(FL, 'fl.feedback', {
    model_store_ddc: 'rain',
    model_id: ids[0].model_id,
  })
  t.equal(body.result.model_id, fake.models[0]?.model_id, 'fl.feedback answers what the server answered')
  t.equal(fake.uploads, 5, 'and sends nothing again')
})

t.test('bad upstream: two models of the same bytes and words are two models there', async (t) => {
  const fake = await startFakeUpstream({ hasGetInfo: true })
  t.teardown(() => fake.close())
  const gateway = await startGateway(t, { settings: { sync: LOCAL_SYNC } })
  await connect(gateway, fake)
  const bytes = randomBytes(1000)
  await putModel(gateway, bytes)
  await until('the first arrives', () => fake.models.length === 1)
  fake.onUpload = (n, response, store) => {
    if (n !== 1) return undefined
    store()
    response.destroy()
    return true
  }
  await putModel(gateway, bytes)
  await until(
    'both are delivered',
    async () => (await transfersOf(gateway, { conds: { '=': ['state', 'delivered'] } })).length === 2,
  )
  t.equal(fake.models.length, 2)
})

t.test('bad upstream: fl.feedback distinguishes unreachable from refused', async (t) => {
  const fake = await startFakeUpstream({ hasGetInfo: true })
  const gateway = await startGateway(t, { settings: { sync: { ...LOCAL_SYNC, push: 'manual' } } })
  await connect(gateway, fake)
  const feedback = async (bytes: Uint8Array<ArrayBuffer>) => {
    const { body } = await putModel(gateway, bytes)
    return (await gateway.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: body.model_id })).body
      .error
  }
  fake.onUpload = (_n, response) => {
    response.writeHead(422).end('not like this')
    return true
  }
  const refused = await feedback(randomBytes(10))
  t.match(refused, {
    message: 'The upstream answered 422: not like this',
    data: { name: 'UPSTREAM_REFUSED', status: 422, queued: false },
  })
  await fake.close()
  const gone = await feedback(randomBytes(10))
  t.match(gone.data, { name: 'UPSTREAM_UNREACHABLE', queued: true, transferId: 2 })
  t.match((await transfersOf(gateway, { conds: { '=': ['id', 2] } }))[0].state, /queued|sending/)
})

function spoil(fake: FakeUpstream, fault: Fault, isForEver: boolean): void {
  let isDone = false
  fake.onUpload = (_n, response, store) => {
    const probe = store()
    fake.models.pop()
    if (probe.data.model_kind !== 'first' || (isDone && !isForEver)) return undefined
    isDone = true
    fault(response, store)
    return true
  }
}

function endless(response: ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('x'.repeat(5000)), 5)
  response.on('close', () => clearInterval(timer))
}

function cutAnswer(response: ServerResponse, store: () => ReceivedModel): void {
  const text = JSON.stringify(infoOf(store()))
  response.writeHead(200, { 'content-length': text.length }).write(text.slice(0, 20))
  setTimeout(() => response.destroy(), 20)
}
