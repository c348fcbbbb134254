import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import type { Attempt } from '../../src/sync/attempt.js'
import { refused, unreachable } from '../../src/sync/faults.js'
import { fetchModel, partsOfFetches } from '../../src/sync/fetch-model.js'
import { attemptParts, replyOf, type Step, scriptedClient } from '../support/attempts.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(5000)
const MD5 = createHash('md5').update(BYTES).digest('hex')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
const BREAK = unreachable(new Error('the link broke'))
/** Description of the model at a server of the public interface. */
const PLAIN = {
  model_id: 'their model/1',
  model_kind: 'their kind',
  model_description: 'their description',
  model_meta: { b: 2 },
  model_hash: MD5.toUpperCase(),
  model_size: BYTES.length,
  hop_count: 2,
  round: 7,
  tenant_id: 'their tenant',
}
/** Description of the model at a gateway. */
const REMOTE = { ...PLAIN, model_sha256: SHA256 }
const PATH = '/api/v2/model_store/models/their%20model%2F1/file'

const bytesFrom = (start: number, end = BYTES.length) => BYTES.subarray(start, end)
const partial = (start: number, body: readonly (Uint8Array | Error)[] = [bytesFrom(start)]) =>
  replyOf(206, body, { 'content-range': `bytes ${start}-${BYTES.length - 1}/${BYTES.length}` })

async function setUp(t: Test, steps: Step[], listed: object[] | Error = [REMOTE]) {
  const at = await attemptParts(t)
  const queries: object[] = []
  const script = scriptedClient(steps, {
    'model_store.model.get_info': (params) => {
      queries.push(params)
      return listed
    },
  })
  const fetchAs = async (change: Partial<Attempt> = {}) => {
    const [running] = await at.state.transfers.list({
      conds: { '=': ['state', 'sending'] },
      env: { timeZoneMin: 0, nowUs: 0n },
    })
    const attempt = at.attemptOf(running ?? (await at.begin('fetch')), script.client, change)
    return { attempt, answer: fetchModel(at.deps, attempt) }
  }
  const row = async () => await at.state.transfers.find(1)
  return { ...at, ...script, queries, fetchAs, row, run: async () => await (await fetchAs()).answer }
}

t.test('fetch: asks for the newest aggregated model and registers it with state 40', async (t) => {
  const { fetchAs, queries, calls, requests, deps, row, upstream } = await setUp(t, [
    replyOf(200, [bytesFrom(0, 2000), bytesFrom(2000)]),
  ])
  const { attempt, answer } = await fetchAs()
  const { model, isKnown } = await answer
  t.equal(isKnown, false)
  t.match(queries, [
    {
      model_store_ddc: upstream.upstreamStore,
      conds: { '=': ['model_state', 30] },
      order: '-end_datetime',
      limit: 1,
    },
  ])
  t.same(calls, ['model_store.model.get_info', `GET ${PATH}`])
  t.same(requests[0]?.headers, {}, 'no range for the whole file')
  t.match(model, {
    storeName: 'rain',
    kind: 'their kind',
    description: 'their description',
    state: 40,
    round: 7,
    hopCount: 3,
    chain: ['there'],
    tenantId: 'their tenant',
    originNode: null,
    sha256: SHA256,
    md5: MD5,
    sizeBytes: 5000,
  })
  t.same(JSON.parse(model.meta), { b: 2 })
  t.same(await deps.blobs.stat(SHA256), { sizeBytes: 5000 })
  t.same(await deps.parts.list(), [], 'the part has become the blob')
  t.same(attempt.moved, [2000, 3000])
  t.equal(attempt.progress.doneBytes, 5000)
  t.match(await row(), { state: 'delivered', modelId: model.modelId, sizeBytes: 5000 })
})

t.test('fetch: a server without a node id leaves the chain empty', async (t) => {
  const { fetchAs } = await setUp(t, [replyOf(200, [BYTES])], [PLAIN])
  const { model } = await (
    await fetchAs({ peer: { isPeer: false, nodeId: null, hasSignatures: false, takesDeltas: false } })
  ).answer
  t.same(model.chain, [])
})

t.test('fetch: NO_AGGREGATED_MODEL when the upstream lists none', async (t) => {
  const { run, calls } = await setUp(t, [], [])
  await rejectsWith(t, run(), 'NO_AGGREGATED_MODEL', { data: { model_store_ddc: 'theirs' } })
  t.same(calls, ['model_store.model.get_info'])
})

t.test('fetch: NO_AGGREGATED_MODEL while the store of the upstream does not exist', async (t) => {
  const { run } = await setUp(t, [], refused(404, 'no such store', {}, 'UNKNOWN_STORE'))
  await rejectsWith(t, run(), 'NO_AGGREGATED_MODEL', { data: { model_store_ddc: 'theirs' } })
  for (const error of [refused(404, ''), refused(500, 'broken', {}, 'INTERNAL'), BREAK]) {
    const { run } = await setUp(t, [], error)
    t.equal(await run().catch((thrown: unknown) => thrown), error, 'any other error is the answer')
  }
})

t.test('fetch: the newest model of state 40 is not fetched again', async (t) => {
  for (const listed of [REMOTE, PLAIN]) {
    const { run, put, calls } = await setUp(t, [], [listed])
    const here = await put(BYTES, { state: 40 })
    const { model, isKnown } = await run()
    t.match([isKnown, model.modelId], [true, here.modelId])
    t.same(calls, ['model_store.model.get_info'])
  }
})

t.test('fetch: other bytes, another size, or damaged bytes are fetched', async (t) => {
  const other = { ...REMOTE, model_hash: MD5, model_sha256: 'ab'.repeat(32) }
  const longer = { ...PLAIN, model_size: BYTES.length + 1 }
  const sameSize = { ...PLAIN, model_hash: 'ab'.repeat(16) }
  for (const listed of [other, longer, sameSize]) {
    const { run, put, calls } = await setUp(t, [replyOf(503)], [listed])
    await put(BYTES, { state: 40 })
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { data: { status: 503 } })
    t.equal(calls.length, 2)
  }
  const damaged = await setUp(t, [replyOf(200, [BYTES])])
  await damaged.put(BYTES, { state: 40 })
  await damaged.state.models.setDamaged(SHA256, true)
  t.equal((await damaged.run()).isKnown, false)
})

t.test('fetch: a model of another state with the same bytes is no fetched one', async (t) => {
  const { run, put } = await setUp(t, [replyOf(200, [BYTES])])
  await put(BYTES, { state: 30 })
  t.equal((await run()).isKnown, false)
})

t.test('fetch: after a break only the rest is requested, at once when bytes were gained', async (t) => {
  const { run, requests, sleeps, row } = await setUp(t, [
    replyOf(200, [bytesFrom(0, 2000), BREAK]),
    partial(2000, [bytesFrom(2000, 4000), BREAK]),
    partial(4000),
  ])
  t.equal((await run()).model.sha256, SHA256)
  t.same(
    requests.map(({ headers }) => headers),
    [
      {},
      { range: 'bytes=2000-', 'if-range': `"${SHA256}"` },
      { range: 'bytes=4000-', 'if-range': `"${SHA256}"` },
    ],
  )
  t.same(sleeps, [])
  t.match(await row(), { bytesSent: 5000 })
})

t.test('fetch: a server without SHA-256 gets a range without a condition', async (t) => {
  const { run, requests } = await setUp(t, [replyOf(200, [bytesFrom(0, 10), BREAK]), partial(10)], [PLAIN])
  await run()
  t.same(requests[1]?.headers, { range: 'bytes=10-' })
})

t.test('fetch: a later attempt continues with the part of an earlier one', async (t) => {
  const steps: Step[] = [replyOf(200, [bytesFrom(0, 2000), new Error('power cut')])]
  const { run, state, calls, requests, row } = await setUp(t, steps)
  await t.rejects(run(), /power cut/)
  t.match(await row(), { bytesSent: 2000, sizeBytes: 5000 })
  steps.push(partial(2000))
  t.equal((await run()).model.sha256, SHA256)
  t.same(requests[1]?.headers.range, 'bytes=2000-')
  t.equal(calls.length, 4)
  t.match(await state.models.counts(), { models: 1 })
})

t.test('fetch: another model than in the earlier attempt starts at 0', async (t) => {
  const steps: Step[] = [replyOf(200, [bytesFrom(0, 2000), new Error('power cut')])]
  const listed = [REMOTE]
  const { run, requests, row } = await setUp(t, steps, listed)
  await t.rejects(run(), /power cut/)
  const next = randomBytes(300)
  const sha256 = createHash('sha256').update(next).digest('hex')
  listed[0] = { ...REMOTE, model_id: 'next', model_sha256: sha256, model_size: 300 }
  steps.push(replyOf(200, [next]))
  t.equal((await run()).model.sha256, sha256)
  t.same(requests[1]?.headers, {})
  t.match(await row(), { sizeBytes: 300, bytesSent: 300 })
})

t.test('fetch: bytes that are noted but not on disk are requested from 0', async (t) => {
  const steps: Step[] = [replyOf(200, [bytesFrom(0, 2000), new Error('power cut')])]
  const { run, deps, requests, state } = await setUp(t, steps)
  await t.rejects(run(), /power cut/)
  await deps.parts.remove('fetch-1')
  steps.push(replyOf(200, [BYTES]))
  t.equal((await run()).model.sha256, SHA256, 'the part is missing')
  t.same(requests[1]?.headers, {})
  t.match(await state.models.counts(), { models: 1 })
})

t.test('fetch: a part that is shorter than noted starts again at 0', async (t) => {
  const steps: Step[] = [replyOf(200, [bytesFrom(0, 2000), new Error('power cut')])]
  const { run, deps, state, requests } = await setUp(t, steps)
  await t.rejects(run(), /power cut/)
  await state.transfers.note(1, { bytesSent: 3000 })
  const unusable = partial(3000)
  steps.push(unusable, replyOf(200, [BYTES]))
  t.equal((await run()).model.sha256, SHA256)
  t.equal(unusable.isDiscarded, true)
  t.same(
    requests.map(({ headers }) => headers.range),
    [undefined, 'bytes=3000-', undefined],
  )
  t.same(await deps.parts.list(), [])
})

t.test('fetch: a server that ignores the range sends all bytes, which replace the part', async (t) => {
  const { run } = await setUp(t, [replyOf(200, [bytesFrom(0, 2000), BREAK]), replyOf(200, [BYTES])])
  t.equal((await run()).model.sha256, SHA256)
})

t.test('fetch: UPSTREAM_REFUSED for a reply without the requested bytes', async (t) => {
  const wrong = [
    replyOf(404, 'gone'),
    replyOf(416, 'no such range'),
    replyOf(206, [bytesFrom(2000)], {}),
    replyOf(206, [bytesFrom(2000)], { 'content-range': 'bytes 1999-4999/5000' }),
    replyOf(206, [bytesFrom(2000)], { 'content-range': 'bytes 20000-4999/5000' }),
    replyOf(206, [bytesFrom(2000)], { 'content-range': 'items bytes 2000-4999/5000' }),
    replyOf(206, [bytesFrom(2000)], { 'content-range': 'bytes */5000' }),
  ]
  for (const reply of wrong) {
    const { run, calls } = await setUp(t, [replyOf(200, [bytesFrom(0, 2000), BREAK]), reply])
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { data: { status: reply.status } })
    t.equal(calls.length, 3)
  }
  const { run } = await setUp(t, [replyOf(404, 'gone', { 'retry-after': '5' })])
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { message: /404: gone/, data: { retryAfterS: 5 } })
})

t.test('fetch: UPSTREAM_UNREACHABLE at the fourth break in a row without a byte gained', async (t) => {
  const none = await setUp(t, [BREAK, BREAK, BREAK, BREAK, replyOf(200, [BYTES])])
  await rejectsWith(t, none.run(), 'UPSTREAM_UNREACHABLE')
  t.equal(none.calls.length, 5)
  t.same(none.sleeps, [100, 100, 100], 'half of 200 ms')
  const gained = replyOf(200, [bytesFrom(0, 1000), BREAK])
  const some = await setUp(t, [BREAK, BREAK, BREAK, gained, BREAK, BREAK, BREAK, partial(1000)])
  t.equal((await some.run()).model.sha256, SHA256, 'the count begins again')
  t.equal(some.sleeps.length, 6)
})

t.test('fetch: an attempt that was stopped is not continued', async (t) => {
  const controller = new AbortController()
  const stopping = () => {
    controller.abort(new AppError('CANCELLED'))
    throw BREAK
  }
  const { fetchAs, calls } = await setUp(t, [stopping])
  await rejectsWith(t, (await fetchAs({ signal: controller.signal })).answer, 'UPSTREAM_UNREACHABLE')
  t.equal(calls.length, 2)
})

t.test('fetch: CANCELLED between two chunks once transfers are not allowed; the part stays', async (t) => {
  const at = await setUp(t, [])
  const pausing = replyOf(200)
  pausing.chunks = async function* () {
    yield bytesFrom(0, 1000)
    at.gate.reason = 'outside sync.windows'
    yield bytesFrom(1000)
  }
  const { client } = scriptedClient([pausing], { 'model_store.model.get_info': () => [REMOTE] })
  const { attempt, answer } = await at.fetchAs({ client })
  await rejectsWith(t, answer, 'CANCELLED', { data: { reason: 'outside sync.windows' } })
  t.same(attempt.moved, [1000])
  t.match(await at.row(), { bytesSent: 1000 })
})

t.test('fetch: DIGEST_MISMATCH removes the part, so that the next attempt starts at 0', async (t) => {
  const wrong = Buffer.from(BYTES)
  wrong[7] = (wrong[7] ?? 0) ^ 1
  for (const [listed, message] of [
    [REMOTE, /Found bytes of the SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}$/],
    [PLAIN, /Found bytes of the MD5 [0-9a-f]{32}, expected [0-9A-F]{32}$/],
  ] as const) {
    const steps: Step[] = [replyOf(200, [wrong])]
    const { run, deps, row, requests } = await setUp(t, steps, [listed])
    await rejectsWith(t, run(), 'DIGEST_MISMATCH', { message })
    t.same(await deps.parts.list(), [])
    t.match(await row(), { bytesSent: 0 })
    steps.push(replyOf(200, [BYTES]))
    t.equal((await run()).model.sha256, SHA256)
    t.same(requests[1]?.headers, {})
  }
})

t.test('fetch: the SHA-256 decides where there is one, whatever the MD5', async (t) => {
  const { run } = await setUp(t, [replyOf(200, [BYTES])], [{ ...REMOTE, model_hash: 'other' }])
  t.equal((await run()).model.sha256, SHA256)
  const lying = { ...REMOTE, model_sha256: 'ab'.repeat(32) }
  const wrong = await setUp(t, [replyOf(200, [BYTES])], [lying])
  await rejectsWith(t, wrong.run(), 'DIGEST_MISMATCH')
})

t.test('fetch: a model without bytes is registered without a request', async (t) => {
  const empty = { ...PLAIN, model_size: 0, model_hash: createHash('md5').digest('hex') }
  const { run, calls, deps } = await setUp(t, [], [empty])
  const { model } = await run()
  t.match(model, { sizeBytes: 0, state: 40 })
  t.same(calls, ['model_store.model.get_info'])
  t.same(await deps.blobs.stat(model.sha256), { sizeBytes: 0 })
})

t.test('fetch: DISK_FULL ends the attempt', async (t) => {
  const at = await setUp(t, [replyOf(200, [BYTES])])
  const requireSpace = () => Promise.reject(new AppError('DISK_FULL'))
  const attempt = at.attemptOf(await at.begin('fetch'), at.client)
  await rejectsWith(t, fetchModel({ ...at.deps, requireSpace }, attempt), 'DISK_FULL')
  t.equal(at.calls.length, 2)
})

t.test('parts of fetches: those of queued and running fetches', async (t) => {
  const { state, store, upstream, put, begin } = await setUp(t, [])
  await put(randomBytes(10))
  await begin('feedback')
  const second = await state.upstreams.create({ ...upstream, secret: 's', alias: 'second' })
  const { transferId: done } = await state.transfers.queueFetch(store.storeId, upstream.upstreamId)
  await state.transfers.cancel(done)
  const { transferId: queued } = await state.transfers.queueFetch(store.storeId, upstream.upstreamId)
  const { transferId: running } = await state.transfers.queueFetch(store.storeId, second.upstreamId)
  await state.transfers.begin(running)
  const parts = await partsOfFetches(state.transfers)
  t.ok(parts.has(`fetch-${queued}`) && parts.has(`fetch-${running}`))
  t.notOk(parts.has(`fetch-${done}`))
})

t.test('fetch: a signature that the upstream announces and does not send ends the attempt', async (t) => {
  const { fetchAs, calls, deps } = await setUp(
    t,
    [replyOf(404, [Buffer.from('{"detail": "no such file"}')])],
    [{ ...REMOTE, signature: 'valid' }],
  )
  const { answer } = await fetchAs({
    peer: { isPeer: true, nodeId: 'there', hasSignatures: true, takesDeltas: false },
  })
  await rejectsWith(t, answer, 'UPSTREAM_REFUSED')
  t.same(calls, ['model_store.model.get_info', `GET ${PATH.replace('/file', '/signature')}`])
  t.same(await deps.parts.list(), [], 'nothing was fetched')
})
