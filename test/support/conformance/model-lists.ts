import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { State } from '../../../src/storage/state.js'
import { model, upstream } from '../model-rows-conformance.js'

type Stores = 'models' | 'modelStores' | 'upstreams' | 'transfers' | 'uploads' | 'control'
type Open = (t: Test) => Promise<Pick<State, Stores>>

const env = { timeZoneMin: 0, nowUs: 0n }
const QUIET = { autoCreate: true, push: false }
const HINT = 'ef'.repeat(32)

/** Lists, values of every kind, and the switches of the outbox. @param open fresh and empty */
export async function conformModelLists(t: Test, open: Open): Promise<void> {
  await conformConditions(t, open)
  await conformStored(t, open)
  await conformTransferLists(t, open)

  await t.test('sync control: pause, rate and wakes; a change of another caller is noticed', async (t) => {
    const { control, modelStores } = await open(t)
    t.same([await control.isPaused(), await control.wakeCount(), await control.rate()], [false, 0, 0])
    await control.setPaused(true)
    await control.askNow()
    await control.askNow()
    await control.setRate(1234.5)
    t.same([await control.isPaused(), await control.wakeCount(), await control.rate()], [true, 2, 1235])
    await control.setPaused(false)
    t.equal(await control.isPaused(), false)
    t.type(await control.changeCount(), 'number')
    t.ok(await modelStores.create('rain'))
  })
}

async function conformConditions(t: Test, open: Open): Promise<void> {
  await t.test('lists: conditions of every kind choose the same models', async (t) => {
    const { models, modelStores } = await open(t)
    const kinds = ['a', 'a_c', 'a\u0000c', 'a\u0001c', 'A%c', 'ä\nb', '', 'a\\c', '[a-z]*']
    for (const [at, kind] of kinds.entries()) {
      const signature = [
        null,
        { bundle: '{}', keyHint: HINT, verdict: 'valid' as const },
        { bundle: 'no \u0000 json', keyHint: null, verdict: 'invalid' as const },
        { bundle: '{}', keyHint: 'aa'.repeat(32), verdict: null },
      ][at % 4]
      await models.add(model({ kind, sizeBytes: at, signature: signature ?? null }), QUIET)
    }
    const storeId = (await modelStores.find('rain'))?.storeId ?? 0
    const chosen = async (conds: unknown, more: object = {}) =>
      (await models.list(storeId, { conds, env, ...more }, [HINT])).map(({ sizeBytes }) => sizeBytes)
    const like = (pattern: string) => chosen({ like: ['model_kind', pattern] })
    t.same(await like('a_c'), [1, 2, 3, 7], '_ is one character, whichever')
    t.same(await like('a\\_c'), [1])
    t.same(await like('a\u0000c'), [2])
    t.same(await like('a\u0001_'), [3])
    t.same(await like('%\u0001%'), [3])
    t.same(await like('A\\%_'), [4])
    t.same(await like('ä_b'), [5])
    t.same(await like('a\\\\_'), [7])
    t.same(await like('[a-z]_'), [8])
    t.same(await like('[%'), [8])
    t.same(await like(''), [6])
    t.same(await like('_'), [0])
    t.same(await chosen({ in: ['model_size', []] }), [])
    t.same(await chosen({ not: { in: ['model_size', []] } }), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    t.same(await chosen({ and: [] }), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    t.same(await chosen({ or: [] }), [])
    t.same(await chosen({ between: ['model_size', 2, 3] }), [2, 3])
    t.same(await chosen({ '>': ['model_size', '9007199254740993'] }), [])
    t.same(await chosen({ in: ['model_kind', ['a', 'A%c']] }), [0, 4])
    t.same(await chosen({ or: [{ '=': ['model_size', 1] }, { not: { '<': ['model_size', 8] } }] }), [1, 8])
    t.same(await chosen({ '=': ['signature', 'valid'] }), [1, 5])
    t.same(await chosen({ '=': ['signature', 'unknown_key'] }), [3, 7])
    t.same(await chosen({ is_null: ['tenant_id'] }), [])
    t.same(await chosen({}, { order: 'model_kind' }), [6, 4, 8, 0, 2, 3, 7, 1, 5], 'by bytes')
    t.same(await chosen({}, { order: ['signature', '-model_size'] }), [6, 2, 8, 4, 0, 7, 3, 5, 1])
    t.same(await chosen({}, { limit: 0 }), [])
    t.same(await chosen({}, { limit: 2, offset: 7 }), [7, 8])
  })
}

async function conformStored(t: Test, open: Open): Promise<void> {
  await t.test('models: whatever text a caller sends comes back as it was', async (t) => {
    const { models } = await open(t)
    const origin = { node: 'n\u0000', modelId: '\u0001\u0001' }
    const given = model({
      ...{ description: 'a\u0000b\u0001c\u0001\u0002', kind: '\u0000', tenantId: 'k\u0001' },
      ...{ origin, chain: ['n\u0000', 'ä'], meta: '{"a":"\\u0000","b":1e400}', round: 2 ** 53 - 1 },
      ...{ lng: -0, lat: -89.12345678901235, startUs: -1, endUs: 4_102_444_800_000_000 },
    })
    const added = await models.add(given, QUIET)
    const found = await models.find(given.modelId)
    t.strictSame(found, added?.model)
    const { store: _, origin: __, ...same } = given
    t.match(found, { ...same, originNode: 'n\u0000', originModelId: '\u0001\u0001' })
    t.ok(Object.is(found?.lng, -0) || found?.lng === 0)
    t.strictSame(await models.findByOrigin('n\u0000', '\u0001\u0001', found?.storeId ?? 0), found)
    t.equal((await models.add({ ...given, modelId: randomUUID() }, QUIET))?.isRepeat, true)
    t.equal(await models.findByOrigin('n', '\u0001\u0001', found?.storeId ?? 0), undefined)
  })

  await t.test('models: the newest, those like another one, and those beyond the newest', async (t) => {
    const { models, modelStores, uploads } = await open(t)
    const digest = (at: number) => String(at).repeat(64)
    const ids: string[] = []
    for (let at = 0; at < 6; at++) {
      const kind = at === 5 ? 'other' : 'k'
      const one = model({ kind, sha256: digest(at), state: at === 1 ? 40 : 10, sizeBytes: at })
      ids.push((await models.add(one, QUIET))?.model.modelId ?? '')
    }
    const storeId = (await modelStores.find('rain'))?.storeId ?? 0
    t.match(await models.newest(storeId, 10), { modelId: ids[5] })
    t.equal(await models.newest(storeId, 30), undefined)
    const bases = (more: object) =>
      models.listBases(storeId, { kind: 'k', sha256: digest(4), limit: 10, ...more })
    t.same(await bases({}), [1, 3, 2, 0].map(digest))
    t.same(await bases({ limit: 2 }), [1, 3].map(digest))
    t.same(await bases({ beforeSeq: 3 }), [1, 0].map(digest))
    t.same(await models.surplus(2, 10), [ids[0], ids[2]])
    t.same(await models.surplus(2, 1), [ids[0]])
    const params = JSON.stringify({ delta: { base: digest(0) }, text: '\u0000' })
    await uploads.create({ uploadId: randomUUID(), keyId: 'k', sha256: digest(9), sizeBytes: 5, params })
    t.same(await models.surplus(2, 10), [ids[2]], 'an unfinished upload needs it')
    t.same(await models.digests(digest(3), 1), [{ sha256: digest(4), sizeBytes: 4, isDamaged: false }])
    t.same(await models.released(10), [])
    await models.remove(ids[2] ?? '')
    t.same(await models.released(10), [digest(2)])
    t.equal(await models.isReleased(digest(2)), true)
    await models.forgetReleased([digest(2)])
    await models.forgetReleased([])
    t.equal(await models.isReleased(digest(2)), false)
    t.same(await models.quarantineBadRows(0, 3), { lastSeq: 4, faults: [] }, 'the third one is gone')
    t.same(await models.quarantineBadRows(100, 3), { lastSeq: null, faults: [] })
    await modelStores.remove('rain')
    t.same((await models.released(10)).sort(), [0, 1, 3, 4, 5].map(digest))
  })
}

async function conformTransferLists(t: Test, open: Open): Promise<void> {
  await t.test('transfers: values of every kind, and their lists; null is before all values', async (t) => {
    const { models, modelStores, upstreams, transfers } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    const { upstreamId } = await upstreams.create(upstream({ storeId }))
    const added = await models.add(model({ sizeBytes: 1000 }), { autoCreate: false, push: true })
    const id = added?.transferIds[0] ?? 0
    const fetched = await transfers.queueFetch(storeId, upstreamId)
    const delta = { base: 'b', sha256: 's', sizeBytes: 60, error: 'e\u0000' }
    await transfers.begin(id)
    await transfers.note(id, { delta, savedBytes: 940, bytesSent: 10, resumeUrl: '/u\u0000' })
    await transfers.note(id, {})
    t.match(await transfers.find(id), { delta, savedBytes: 940, resumeUrl: '/u\u0000', mayBeReceived: false })
    t.match(await transfers.backlog(), [
      { kind: 'feedback', bytes: 50 },
      { kind: 'fetch', bytes: 0 },
    ])
    const ids = async (query: object) =>
      (await transfers.list({ env, ...query })).map(({ transferId }) => transferId)
    t.same(await ids({ order: 'size' }), [fetched.transferId, id])
    t.same(await ids({ order: '-size' }), [id, fetched.transferId])
    t.same(await ids({ conds: { is_null: ['size'] } }), [fetched.transferId])
    t.same(await ids({ conds: { not: { '=': ['size', 5] } } }), [id], 'null is neither equal nor not')
    t.same(await ids({ conds: { '=': ['model_store_ddc', 'rain'] }, order: '-id' }), [fetched.transferId, id])
    await transfers.note(id, { delta: null, mayBeReceived: true, answer: '{"model_id":"u\\u0000"}' })
    await transfers.deliver(id, '{"model_id":"u\\u0000","x":"\\ud800"}')
    t.match(await transfers.find(id), { delta: null, mayBeReceived: true, bytesSent: 1000, resumeUrl: null })
    t.same(await transfers.deliveredIds(upstreamId, ['u\u0000', 'v']), new Set(['u\u0000']))
    await transfers.begin(fetched.transferId)
    await transfers.fail(fetched.transferId, { name: 'NO_AGGREGATED_MODEL', message: '\u0000' })
    t.match(await transfers.find(fetched.transferId), { lastError: '\u0000' })
    await transfers.discardFetch(fetched.transferId)
    await transfers.discardFetch(id)
    t.same(await ids({}), [id])
    const again = await transfers.queueFetch(storeId, upstreamId)
    await transfers.begin(again.transferId)
    const taken = await models.add(model({ state: 40 }), { ...QUIET, fetchId: again.transferId })
    t.match(await transfers.find(again.transferId), { state: 'delivered', modelId: taken?.model.modelId })
    t.match(await transfers.waiting({ upstreamId, kind: 'fetch' }, 5), [])
  })

  await t.test('upstreams: lists, and text of any kind', async (t) => {
    const { modelStores, upstreams } = await open(t)
    const storeId = (await modelStores.create('rain'))?.storeId ?? 0
    for (const isEnabled of [true, false]) {
      const one = upstream({ storeId, isEnabled, secret: 's\u0000' })
      await upstreams.create({ ...one, alias: isEnabled ? 'a\u0000' : 'b', description: '\u0001' })
    }
    const aliases = async (query: object) =>
      (await upstreams.list({ env, ...query })).map(({ alias }) => alias)
    t.same(await aliases({ order: 'enabled' }), ['b', 'a\u0000'])
    t.same(await aliases({ conds: { '=': ['enabled', false] } }), ['b'])
    t.same(await aliases({ conds: { is_null: ['model_store_ddc_id'] }, order: '-alias' }), ['b', 'a\u0000'])
    t.same(await aliases({ conds: { '=': ['description', '\u0001'] } }), ['a\u0000', 'b'])
    const stores = await modelStores.list({ env, conds: { '=': ['model_store_ddc', 'rain'] } })
    t.same(
      stores.map((one) => one.storeId),
      [storeId],
    )
    t.match(await modelStores.byId(storeId), { name: 'rain' })
    t.equal(await modelStores.byId(storeId + 1), undefined)
  })
}
