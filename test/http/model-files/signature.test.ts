import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import {
  connect,
  DATA,
  FL,
  LOCAL_SYNC,
  MODELS,
  modelsOf,
  putModel,
  transfersOf,
  until,
} from '../../support/models.js'
import { signBytes } from '../../support/sign.js'
import { newKeyPair } from '../../support/signing-keys.js'
import { pairHeaders, startGateway, type TestGateway } from '../../support/start-gateway.js'

const key = newKeyPair()
const other = newKeyPair('P-384')
const TRUST = { trustedKeys: [key.publicPem] }
const STRICT = { ...TRUST, requireSignature: true }
const BUNDLE_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json'

/** Puts a model with the signature in a part of its own. */
async function putSigned(gateway: TestGateway, bytes: Uint8Array<ArrayBuffer>, ...bundles: string[]) {
  const form = new FormData()
  form.set('data', JSON.stringify(DATA))
  form.set('file', new Blob([bytes]), 'model.dat')
  for (const bundle of bundles) form.append('signature', new Blob([bundle]), 'model.sig')
  const url = `${gateway.url}${MODELS}/upload/model_store.model.put`
  const response = await fetch(url, { method: 'POST', headers: pairHeaders(gateway.admin), body: form })
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return { status: response.status, body: (await response.json()) as any }
}

const signatureOf = (gateway: TestGateway, modelId: string) =>
  fetch(`${gateway.url}/api/v2/model_store/models/${modelId}/signature`, {
    headers: pairHeaders(gateway.admin),
  })

t.test('signature: comes as a part or a param, is judged, listed and sent again', async (t) => {
  const gateway = await startGateway(t, { settings: { modelStore: TRUST } })
  const bytes = randomBytes(1000)
  const bundle = signBytes(bytes, key.privatePem)
  const states: [name: string, data: object, state: string][] = [
    ['a text', { model_signature: bundle }, 'valid'],
    ['an object', { model_signature: JSON.parse(bundle) }, 'valid'],
    ['a key that is not trusted', { model_signature: signBytes(bytes, other.privatePem) }, 'unknown_key'],
    ['other bytes', { model_signature: signBytes(randomBytes(3), key.privatePem) }, 'invalid'],
    ['no bundle at all', { model_signature: '{' }, 'invalid'],
    ['absent', {}, 'none'],
  ]
  for (const [name, data, state] of states)
    t.match((await putModel(gateway, bytes, { data })).body, { signature: state }, name)
  for (const state of ['none', 'valid', 'unknown_key', 'invalid', 'other']) {
    const found = await modelsOf(gateway, { conds: { '=': ['signature', state] } })
    const expected = states.filter(([, , each]) => each === state)
    t.same(
      found.map(({ signature }) => signature),
      expected.map(() => state),
      `models with ${state}`,
    )
  }
  const ordered = await modelsOf(gateway, { order: '-signature', limit: 3 })
  t.same(
    ordered.map(({ signature }) => signature),
    ['valid', 'valid', 'unknown_key'],
  )
  const { body } = await putSigned(gateway, bytes, bundle)
  t.equal(body.signature, 'valid', 'a part')
  t.same(
    (await modelsOf(gateway)).map(({ signature }) => signature).sort(),
    [...states.map(([, , state]) => state), 'valid'].sort(),
  )
  const sent = await signatureOf(gateway, body.model_id)
  t.same([sent.status, sent.headers.get('content-type'), await sent.text()], [200, BUNDLE_TYPE, bundle])
  const deleted = await gateway.call(MODELS, 'model_store.model.delete', { model_id: body.model_id })
  t.equal(deleted.body.result.signature, 'valid')
})

t.test('signature: refusals of uploads and of the download', async (t) => {
  const gateway = await startGateway(t, { settings: { modelStore: TRUST } })
  const bytes = randomBytes(10)
  const bundle = signBytes(bytes, key.privatePem)
  t.match(await putSigned(gateway, bytes, bundle, bundle), {
    status: 400,
    body: { error: { message: /two parts signature/, data: { name: 'BAD_UPLOAD' } } },
  })
  t.match((await putSigned(gateway, bytes, 'x'.repeat(300_000))).body.error.data, { name: 'BODY_TOO_LARGE' })
  const long = await putModel(gateway, bytes, { data: { model_signature: 'x'.repeat(300_000) } })
  t.match(long.body.error, { data: { name: 'INVALID_PARAMS' }, message: /model_signature.*at most/ })
  const form = new FormData()
  form.set('data', JSON.stringify({ ...DATA, model_signature: bundle }))
  form.set('file', new Blob([bytes]), 'model.dat')
  form.set('signature', bundle)
  const twice = await fetch(`${gateway.url}${MODELS}/upload/model_store.model.put`, {
    method: 'POST',
    headers: pairHeaders(gateway.admin),
    body: form,
  })
  t.match(await twice.json(), { error: { message: /expected one of them/, data: { name: 'BAD_UPLOAD' } } })
  t.same(await modelsOf(gateway), [], 'nothing was registered')
  const { body } = await putModel(gateway, bytes)
  const none = await signatureOf(gateway, body.model_id)
  t.match([none.status, await none.json()], [404, { error: { message: /has no signature/ } }])
  const unknown = await signatureOf(gateway, 'nothing')
  t.match([unknown.status, await unknown.json()], [404, { error: { data: { name: 'UNKNOWN_MODEL' } } }])
})

t.test('signature: demanded of every way in, also by the long form of a store', async (t) => {
  const gateway = await startGateway(t, { settings: { modelStore: { ...TRUST, signedStores: ['rain'] } } })
  const bytes = randomBytes(1000)
  const good = { model_signature: signBytes(bytes, key.privatePem) }
  const refused = { name: 'SIGNATURE_REFUSED', reason: 'no_signature' }
  t.match((await putModel(gateway, bytes)).body.error.data, refused)
  t.equal(
    (await putModel(gateway, bytes, { data: { model_store_ddc: 'snow' } })).status,
    200,
    'another store',
  )
  t.match((await putModel(gateway, bytes, { data: good })).body, { signature: 'valid' })
  const [store] = (
    await gateway.call(MODELS, 'model_store.list', { order: 'id', limit: 2 })
  ).body.result.filter(({ model_store_ddc }: { model_store_ddc: string }) => model_store_ddc === 'rain')
  const byLongForm = await putModel(gateway, bytes, { data: { model_store_ddc: store.long_form } })
  t.match(byLongForm.body.error.data, refused, 'the long form')
  const foreign = { model_signature: signBytes(bytes, other.privatePem) }
  t.match((await putModel(gateway, bytes, { data: foreign })).body.error, {
    data: { name: 'SIGNATURE_REFUSED', reason: 'unknown_key' },
    message: /modelStore\.signedStores demands/,
  })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const origin = { origin: { node: 'n', model_id: 'm' } }
  const announce = async (data: object) =>
    (await gateway.call(FL, 'fl.announce', { sha256, size: 1000, data: { ...DATA, ...origin, ...data } }))
      .body
  t.match((await announce({})).error.data, refused)
  t.match((await announce(good)).result, { have: true, model_info: { signature: 'valid' } })

  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const create = (data: object) =>
    fetch(`${gateway.url}/api/v2/model_store/uploads`, {
      method: 'POST',
      headers: {
        ...pairHeaders(gateway.admin),
        'tus-resumable': '1.0.0',
        'upload-length': '1000',
        'upload-metadata': `method ${base64('model_store.model.put')},sha256 ${base64(sha256)},data ${base64(JSON.stringify({ ...DATA, ...data }))}`,
      },
    })
  const begun = await create({})
  t.match([begun.status, await begun.json()], [422, { error: { data: refused } }], 'before a byte is sent')
  const created = await create(good)
  t.equal(created.status, 201)
  const patched = await fetch(`${gateway.url}${created.headers.get('location')}`, {
    method: 'PATCH',
    headers: {
      ...pairHeaders(gateway.admin),
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': '0',
    },
    body: bytes,
  })
  t.match(await patched.json(), { signature: 'valid' })
  t.equal((await modelsOf(gateway)).length, 3)
})

t.test('signature: travels upstream and comes back with a fetched model', async (t) => {
  const dir = t.testdir()
  const start = (name: string, modelStore: object) =>
    startGateway(t, { settings: { sync: LOCAL_SYNC, modelStore }, dataDir: path.join(dir, name) })
  const [edge, top] = [await start('edge', TRUST), await start('top', STRICT)]
  await connect(edge, top)
  for (const size of [1000, 100_000]) {
    const bytes = randomBytes(size) // one request, and an announced upload
    await putModel(edge, bytes, { data: { model_signature: signBytes(bytes, key.privatePem) } })
  }
  await until('both are at the top', async () => (await modelsOf(top)).length === 2)
  t.same(
    (await modelsOf(top)).map(({ signature }) => signature),
    ['valid', 'valid'],
  )
  await putModel(edge, randomBytes(50_000))
  await until('the third is refused', async () =>
    (await transfersOf(edge)).some(({ state }) => state === 'failed'),
  )
  const failed = (await transfersOf(edge)).find(({ state }) => state === 'failed')
  t.match(failed.last_error, /found no signature.*modelStore\.requireSignature/)

  const bytes = randomBytes(40_000)
  const bundle = signBytes(bytes, key.privatePem)
  const data = { model_signature: bundle }
  await putModel(top, bytes, { data, method: 'model_store.model.put_aggregated' })
  const fetched = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  t.match(fetched.body.result, { model_state: 40, signature: 'valid' })
  t.equal(await (await signatureOf(edge, fetched.body.result.model_id)).text(), bundle)
})

t.test('signature: a fetched model without one is refused before its bytes are asked for', async (t) => {
  const dir = t.testdir()
  const start = (name: string, modelStore: object) =>
    startGateway(t, { settings: { sync: LOCAL_SYNC, modelStore }, dataDir: path.join(dir, name) })
  const [edge, top] = [await start('edge', STRICT), await start('top', {})]
  await connect(edge, top)
  await putModel(top, randomBytes(40_000), { method: 'model_store.model.put_aggregated' })
  const { body } = await edge.call(FL, 'fl.request_transfer', { model_store_ddc: 'rain' })
  t.match(body.error, { message: /found no signature/ })
  t.match(await transfersOf(edge), [{ state: 'failed', bytes_sent: 0 }])
  t.same(await modelsOf(edge), [])
})

t.test('signature: a key that is trusted later makes stored signatures valid', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const bytes = randomBytes(100)
  const first = await startGateway(t, { dataDir })
  await putModel(first, bytes, { data: { model_signature: signBytes(bytes, key.privatePem) } })
  await putModel(first, bytes, { data: { model_signature: signBytes(randomBytes(9), key.privatePem) } })
  t.same(
    (await modelsOf(first)).map(({ signature }) => signature),
    ['unknown_key', 'unknown_key'],
  )
  t.same(await modelsOf(first, { conds: { '=': ['signature', 'invalid'] } }), [], 'nothing is known yet')
  await first.gateway.stop()
  const second = await startGateway(t, { dataDir, settings: { modelStore: TRUST } })
  const asFirst = { ...second, admin: first.admin }
  const states = async () => (await modelsOf(asFirst)).map(({ signature }) => signature)
  await until('they are judged', async () => !(await states()).includes('unknown_key'))
  t.same(await states(), ['valid', 'invalid'])
  const valid = await modelsOf(asFirst, { conds: { '=': ['signature', 'valid'] } })
  t.same(valid.length, 1)
})
