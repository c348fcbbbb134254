import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { ModelStores } from '../../src/storage/models/model-stores.js'
import type { ModelRows, NewModel, NewSignature } from '../../src/storage/models/models.js'
import type { TransferRows } from '../../src/storage/models/transfers.js'
import type { UploadRows } from '../../src/storage/models/uploads.js'
import type { UpstreamRows } from '../../src/storage/models/upstreams.js'
import { rejectsWith } from './rejects-with.js'

/** The stores of models and transfers, as a hub may keep them in another database. */
export interface ModelStorage {
  models: ModelRows
  modelStores: ModelStores
  upstreams: UpstreamRows
  transfers: TransferRows
  uploads: UploadRows
}

const env = { timeZoneMin: 0, nowUs: 0n }
const PUSH = { autoCreate: true, push: true }
const SHA = 'ab'.repeat(32)

/** What every implementation of the stores must do. @param open fresh, empty stores */
export async function testModelStorage(t: Test, open: (t: Test) => Promise<ModelStorage>): Promise<void> {
  await t.test('models: a put makes the store, unless it may not', async (t) => {
    const { models, modelStores } = await open(t)
    t.equal(await models.add(model(), { autoCreate: false, push: false }), undefined)
    const added = await models.add(model({ meta: '{"ä":[1,null]}' }), PUSH)
    t.match(added?.model, { storeName: 'rain', meta: '{"ä":[1,null]}', isDamaged: false, chain: [] })
    t.match(added?.model.storeLongForm, /^rain_\d+(\.\d+)?$/)
    const store = await modelStores.find(added?.model.storeLongForm ?? '')
    t.equal(store?.name, 'rain', 'the long form names it too')
    t.equal(await modelStores.create('rain'), undefined, 'a taken name')
  })

  await t.test(
    'models: a signature is kept beside its model, judged later and removed with it',
    async (t) => {
      const { models } = await open(t)
      const hint = 'cd'.repeat(32)
      const put = async (signature: NewSignature | null) =>
        (await models.add(model({ signature }), { autoCreate: true, push: false }))?.model
      const plain = await put(null)
      const signed = await put({ bundle: '{"a":1}', keyHint: hint, verdict: null })
      const judged = await put({ bundle: '{}', keyHint: null, verdict: 'invalid' })
      t.same([plain?.signature, judged?.signature], [null, { keyHint: null, verdict: 'invalid' }])
      t.same(signed?.signature, { keyHint: hint, verdict: null })
      const id = signed?.modelId ?? ''
      t.same(
        [await models.signatureOf(id), await models.signatureOf(plain?.modelId ?? '')],
        ['{"a":1}', undefined],
      )
      const seq = signed?.seq ?? 0
      t.same(await models.openSignatures(0, 10), [{ seq, sha256: SHA, bundle: '{"a":1}' }])
      t.same(await models.openSignatures(seq, 10), [])
      await models.judgeSignatures([{ seq, keyHint: hint, verdict: 'valid' }])
      t.same(await models.openSignatures(0, 10), [])
      t.match(await models.find(id), { signature: { keyHint: hint, verdict: 'valid' } })
      await models.remove(id)
      t.equal(await models.signatureOf(id), undefined)
    },
  )

  await t.test('models: several are added together, or none of them', async (t) => {
    const { models, modelStores } = await open(t)
    await modelStores.create('rain')
    const both = (autoCreate: boolean) =>
      models.addAll(
        ['rain', 'snow'].map((store) => ({ model: model({ store }), options: { autoCreate, push: false } })),
      )
    t.equal(await both(false), undefined, 'a store is unknown and may not be made')
    t.equal((await models.counts()).models, 0)
    t.same(
      (await both(true))?.map(({ model }) => model.storeName),
      ['rain', 'snow'],
    )
    t.equal((await models.counts()).models, 2)
    const same = model()
    const options = { autoCreate: true, push: false }
    await t.rejects(models.addAll([same, same].map((model) => ({ model, options }))))
    t.equal((await models.counts()).models, 2, 'the first of a failed pair is not stored')
  })

  await t.test('models: stores of one instant have different long forms', async (t) => {
    const { modelStores } = await open(t)
    const made = []
    for (const name of ['a', 'b', 'c']) made.push(await modelStores.create(name))
    await modelStores.remove('a')
    made.push(await modelStores.create('a'))
    t.equal(new Set(made.map((store) => store?.longForm)).size, 4)
  })

  await t.test('models: the same origin is taken once for ever, also when the model is gone', async (t) => {
    const { models } = await open(t)
    const origin = { node: 'n1', modelId: 'm1' }
    const first = await models.add(model({ origin, state: 20, chain: ['n1'] }), PUSH)
    const again = await models.add(model({ origin, state: 20, chain: ['n1', 'n2'] }), PUSH)
    t.equal(again?.isRepeat, true)
    t.equal(again?.model.modelId, first?.model.modelId)
    await models.remove(first?.model.modelId ?? '')
    const third = await models.add(model({ origin, state: 20 }), PUSH)
    t.same([third?.isRepeat, third?.model.modelId], [true, first?.model.modelId])
    const elsewhere = await models.add(model({ origin, state: 20, store: 'snow' }), PUSH)
    t.equal(elsewhere?.isRepeat, false, 'another store is another model')
  })

  await t.test('models: transfers are queued with the model, one for each upstream that is on', async (t) => {
    const { models, modelStores, upstreams, transfers } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    for (const isEnabled of [true, false, true]) await upstreams.create(upstream({ storeId, isEnabled }))
    const pushed = await models.add(model(), PUSH)
    t.equal(pushed?.transferIds.length, 2)
    t.same((await models.add(model(), { autoCreate: true, push: false }))?.transferIds, [])
    const [lane] = await transfers.lanes()
    t.same(await transfers.lanes(), [
      { upstreamId: 1, kind: 'feedback' },
      { upstreamId: 3, kind: 'feedback' },
    ])
    t.equal(
      (await transfers.waiting(lane ?? { upstreamId: 0, kind: 'fetch' }, 10))[0]?.modelId,
      pushed?.model.modelId,
    )
    const same = await transfers.queueFeedback(pushed?.model ?? never(), 1)
    t.equal(same.transferId, pushed?.transferIds[0], 'asking again finds it')
  })

  await t.test('models: a deleted one is kept for the transfer that waits, then goes', async (t) => {
    const { models, modelStores, upstreams, transfers } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    await upstreams.create(upstream({ storeId }))
    const added = await models.add(model(), PUSH)
    const { modelId = '' } = added?.model ?? {}
    t.ok(await models.remove(modelId))
    t.equal(await models.remove(modelId), undefined, 'gone for callers')
    t.equal(await models.find(modelId), undefined)
    t.ok(await models.findForTransfer(modelId))
    t.equal(await models.isNamed(SHA), true)
    t.equal(await models.purge(), 0)
    await transfers.begin(added?.transferIds[0] ?? 0)
    await transfers.deliver(added?.transferIds[0] ?? 0, '{"model_id":"x"}')
    t.equal(await models.purge(), 1)
    t.equal(await models.isNamed(SHA), false)
    t.same(await transfers.deliveredIds(1, ['x', 'y']), new Set(['x']))
  })

  await t.test('stores: kept while a transfer waits, else removed with what is in them', async (t) => {
    const { models, modelStores, upstreams, transfers } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    await upstreams.create(upstream({ storeId }))
    const added = await models.add(model(), PUSH)
    t.same(await modelStores.remove('rain'), { waitingTransfers: 1 })
    await transfers.cancel(added?.transferIds[0] ?? 0)
    t.match(await modelStores.remove('rain'), { name: 'rain' })
    t.equal(await modelStores.remove('rain'), undefined)
    t.equal(await models.find(added?.model.modelId ?? ''), undefined)
    t.same(await upstreams.ofStore(storeId), [])
  })

  await t.test('lists: conditions, order, limit and offset; ties by registration', async (t) => {
    const { models, modelStores } = await open(t)
    for (let i = 0; i < 6; i++)
      await models.add(model({ kind: `k${i % 2}`, sizeBytes: i, state: i < 3 ? 10 : 30 }), PUSH)
    const storeId = (await modelStores.find('rain'))?.storeId ?? 0
    const sizes = async (query: object) =>
      (await models.list(storeId, { ...query, env })).map((m) => m.sizeBytes)
    t.same(await sizes({}), [0, 1, 2, 3, 4, 5])
    t.same(await sizes({ conds: { '=': ['model_state', 30] }, order: '-model_size', limit: 1 }), [5])
    t.same(await sizes({ order: ['model_kind', '-model_size'] }), [4, 2, 0, 5, 3, 1])
    t.same(await sizes({ order: 'model_kind', offset: 1, limit: 3 }), [2, 4, 1])
    t.same(await sizes({ conds: { '>': ['start_datetime', '2027-01-01 00:00:00Z'] } }), [])
    await rejectsWith(t, sizes({ conds: { '=': ['secret', 1] } }), 'BAD_CONDITION', {
      data: { path: /conds/ },
    })
    await rejectsWith(t, sizes({ order: 'nothing' }), 'BAD_CONDITION')
  })

  await t.test('transfers: states go one way, and what failed may be queued again', async (t) => {
    const { models, modelStores, upstreams, transfers } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    await upstreams.create(upstream({ storeId }))
    const id = (await models.add(model({ sizeBytes: 100 }), PUSH))?.transferIds[0] ?? 0
    t.equal(await transfers.begin(id), true)
    t.equal(await transfers.begin(id), false, 'one attempt at a time')
    await transfers.note(id, { bytesSent: 60, resumeUrl: '/u', mayBeReceived: true })
    await transfers.putBack(id, { name: 'UPSTREAM_UNREACHABLE', message: 'no route' }, 5)
    t.match(await transfers.find(id), {
      state: 'queued',
      attempts: 1,
      bytesSent: 60,
      resumeUrl: '/u',
      mayBeReceived: true,
      lastError: 'no route',
      nextAttemptUs: 5,
    })
    t.match(await transfers.backlog(), [{ upstreamId: 1, count: 1, bytes: 40 }])
    await transfers.begin(id)
    t.equal(await transfers.recover(), 1, 'after a crash it waits again')
    await transfers.begin(id)
    await transfers.fail(id, { name: 'UPSTREAM_REFUSED', message: '422' })
    t.match(await transfers.find(id), { state: 'failed', lastErrorName: 'UPSTREAM_REFUSED' })
    t.match(await transfers.retry(id), { state: 'queued', finishedAtUs: null, bytesSent: 60 })
    await transfers.begin(id)
    await transfers.deliver(id, '{"model_id":"u"}')
    t.match(await transfers.find(id), { state: 'delivered', bytesSent: 100, lastError: null })
    await transfers.cancel(id)
    await transfers.retry(id)
    await transfers.fail(id, { name: 'X', message: 'x' })
    t.equal((await transfers.find(id))?.state, 'delivered', 'a delivered one is never taken back')
    t.same(await transfers.counts(), { queued: 0, sending: 0, delivered: 1, failed: 0 })
    t.equal((await transfers.list({ conds: { '=': ['state', 'delivered'] }, env })).length, 1)
    t.equal(await transfers.cancel(99), undefined)
  })

  await t.test(
    'transfers: one fetch of an upstream waits at a time; a deleted upstream ends them',
    async (t) => {
      const { modelStores, upstreams, transfers } = await open(t)
      const storeId = (await modelStores.create('rain'))?.storeId ?? 0
      const { upstreamId } = await upstreams.create(upstream({ storeId }))
      const first = await transfers.queueFetch(storeId, upstreamId)
      t.equal((await transfers.queueFetch(storeId, upstreamId)).transferId, first.transferId)
      t.equal(await transfers.cancelOfUpstream(upstreamId), 1)
      t.not((await transfers.queueFetch(storeId, upstreamId)).transferId, first.transferId)
    },
  )

  await t.test('upstreams: a round trip of every field, changes of some', async (t) => {
    const { modelStores, upstreams } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    const made = await upstreams.create(upstream({ storeId, secret: 'sé cret\u0000' }))
    t.match(await upstreams.find(made.upstreamId), {
      secret: 'sé cret\u0000',
      storeName: 'rain',
      alias: 'default',
    })
    t.match(await upstreams.update(made.upstreamId, { alias: 'new' }), {
      alias: 'new',
      secret: 'sé cret\u0000',
    })
    t.equal((await upstreams.list({ conds: { '=': ['enabled', true] }, env })).length, 1)
    t.match(await upstreams.remove(made.upstreamId), { alias: 'new' })
    t.equal(await upstreams.remove(made.upstreamId), undefined)
    t.equal(await upstreams.update(made.upstreamId, {}), undefined)
  })

  await t.test('uploads: found again by key, bytes and facts; done with the model', async (t) => {
    const { models, uploads } = await open(t)
    const uploadId = randomUUID()
    await uploads.create({ uploadId, keyId: 'k', sha256: SHA, sizeBytes: 5, params: '{"a":1}' })
    t.match(await uploads.findSame('k', SHA, '{"a":1}'), { uploadId, offsetBytes: 0 })
    t.equal(await uploads.findSame('other', SHA, '{"a":1}'), undefined)
    await uploads.advance(uploadId, 5)
    t.equal(await models.isNamed(SHA), true, 'whole but not yet registered: the sweep leaves the bytes')
    t.equal(await uploads.countOpen('k'), 1)
    const added = await models.add(model(), { ...PUSH, uploadId })
    t.equal((await uploads.find(uploadId))?.modelId, added?.model.modelId)
    t.equal(await uploads.countOpen('k'), 0)
    t.equal((await uploads.listIdle(Number.MAX_SAFE_INTEGER, 10)).length, 1)
    await uploads.remove(uploadId)
    t.same(await uploads.ids(), [])
  })

  await t.test('models: damage is marked by digest, and new bytes heal it', async (t) => {
    const { models } = await open(t)
    for (let i = 0; i < 2; i++) await models.add(model(), PUSH)
    t.equal(await models.setDamaged(SHA, true), 2)
    t.equal(await models.setDamaged(SHA, true), 0)
    t.match(await models.counts(), { models: 2, damaged: 2 })
    t.match(await models.digests('', 10), [{ sha256: SHA, isDamaged: true }])
    t.equal(await models.findByDigest(SHA), undefined)
    await models.add(model(), PUSH)
    t.match(await models.counts(), { models: 3, damaged: 0 })
  })
}

export function model(change: Partial<NewModel> = {}): NewModel {
  return {
    modelId: randomUUID(),
    store: 'rain',
    kind: 'k',
    description: 'd',
    meta: '{}',
    md5: 'cd'.repeat(16),
    sha256: SHA,
    sizeBytes: 5,
    state: 10,
    hopCount: 0,
    round: 0,
    lng: 0,
    lat: 0,
    startUs: 1,
    endUs: 2,
    tenantId: 't',
    origin: null,
    chain: [],
    ...change,
  }
}

export function upstream(change: { storeId: number; isEnabled?: boolean; secret?: string }) {
  return {
    endpoint: 'https://up.example/api/v2/fl/jsonrpc',
    apikey: 'key',
    secret: 'secret',
    upstreamStore: 'there',
    alias: 'default',
    description: '',
    isEnabled: true,
    ...change,
  }
}

function never(): never {
  throw new Error('the model was added before')
}
