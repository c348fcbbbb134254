import { randomUUID } from 'node:crypto'
import t from 'tap'
import { keepNewest } from '../../src/models/keep-newest.js'
import { memoryState } from '../support/memory-state.js'
import { model, upstream } from '../support/model-rows-conformance.js'

const QUERY = { env: { timeZoneMin: 0, nowUs: 0n } }

t.test('models: the newest of each store, kind and state stay, and those that wait', async (t) => {
  const state = await memoryState(t)
  const { models, modelStores, upstreams, transfers } = state
  const lines: object[] = []
  const log = { info: (facts: object) => void lines.push(facts) }
  const put = async (of: Parameters<typeof model>[0], push = false) =>
    (await models.add(model(of), { autoCreate: true, push }))?.model.modelId ?? ''
  const left = async () => {
    const all = await Promise.all([1, 2].map((storeId) => models.list(storeId, QUERY)))
    return all.flat().map(({ storeName, kind, state: of }) => `${storeName} ${kind} ${of}`)
  }
  await modelStores.create('rain')
  await modelStores.create('snow')
  for (let n = 0; n < 130; n++) await put({})
  for (let n = 0; n < 3; n++) await put({ kind: 'other' })
  for (let n = 0; n < 3; n++) await put({ state: 30 })
  for (let n = 0; n < 3; n++) await put({ store: 'snow' })
  t.equal(await keepNewest({ models, log }, 0), 0, '0 keeps all')
  t.equal(await keepNewest({ models, log }, 2), 131)
  t.same(lines, [{ removed: 131, kept: 2 }])
  t.same((await left()).sort(), [
    ...['rain k 10', 'rain k 10', 'rain k 30', 'rain k 30', 'rain other 10', 'rain other 10'],
    ...['snow k 10', 'snow k 10'],
  ])
  const { upstreamId } = await upstreams.create(upstream({ storeId: 1 }))
  const waiting = await put({ kind: 'sent' }, true)
  const failed = await put({ kind: 'sent' }, true)
  const delivered = await put({ kind: 'sent' }, true)
  await put({ kind: 'sent' })
  const [, second, third] = await transfers.list(QUERY)
  await transfers.fail(second?.transferId ?? 0, { name: 'UPSTREAM_REFUSED', message: 'x' } as never)
  await transfers.begin(third?.transferId ?? 0)
  await transfers.deliver(third?.transferId ?? 0, '{}')
  t.equal(await keepNewest({ models, log }, 1), 5, 'one of each, and the delivered one')
  t.equal(await models.find(delivered), undefined)
  t.ok((await models.find(waiting)) && (await models.find(failed)), 'those that wait stay')
  await transfers.cancelOfUpstream(upstreamId)
  await upstreams.remove(upstreamId)
  t.equal(await keepNewest({ models, log }, 1), 2, 'nobody waits for those of an upstream that is gone')
})

t.test('models: one that the delta of an unfinished upload needs stays until the upload goes', async (t) => {
  const { models, modelStores, uploads } = await memoryState(t)
  const log = { info: () => undefined }
  const [base, next] = ['ba'.repeat(32), 'ce'.repeat(32)]
  await modelStores.create('rain')
  for (const sha256 of [base, next]) await models.add(model({ sha256 }), { autoCreate: true, push: false })
  const upload = { uploadId: randomUUID(), keyId: 'k', sha256: 'de'.repeat(32), sizeBytes: 10 }
  const delta = { base, sha256: 'ef'.repeat(32), modelBytes: 100 }
  await uploads.create({ ...upload, params: JSON.stringify({ delta }) })
  await uploads.create({ ...upload, uploadId: randomUUID(), params: JSON.stringify({}) })
  t.equal(await keepNewest({ models, log }, 1), 0)
  t.ok(await models.isNamed(base))
  await uploads.remove(upload.uploadId)
  t.equal(await keepNewest({ models, log }, 1), 1)
  t.notOk(await models.isNamed(base))
})
