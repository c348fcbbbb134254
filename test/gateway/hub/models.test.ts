import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { MODEL_STORE_PATH } from '../../../src/gateway/apis.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { DATA } from '../../support/models.js'
import { pairHeaders } from '../../support/start-gateway.js'

const skip = noHub()
const UPLOADS = '/api/v2/model_store/uploads'

t.test('hub: models come in at one process and are read at another', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines)
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  const download = async (url: string, modelId: string) => {
    const response = await fetch(`${url}/api/v2/model_store/models/${modelId}/file`, { headers: admin })
    return sha256Of(new Uint8Array(await response.arrayBuffer()))
  }

  const put = async (url: string, bytes: Uint8Array<ArrayBuffer>) => {
    const form = new FormData()
    form.set('data', JSON.stringify(DATA))
    form.set('file', new Blob([bytes]), 'model.dat')
    const target = `${url}${MODEL_STORE_PATH}/upload/model_store.model.put`
    const response = await fetch(target, { method: 'POST', headers: admin, body: form })
    return ((await response.json()) as { model_id: string }).model_id
  }

  await t.test('multipart', async (t) => {
    const bytes = randomBytes(300_000)
    const model_id = await put(one.url, bytes)
    t.equal(await download(two.url, model_id), sha256Of(bytes))
    const range = await fetch(`${two.url}/api/v2/model_store/models/${model_id}/file`, {
      headers: { ...admin, Range: 'bytes=100-199' },
    })
    t.equal(range.status, 206)
    t.same(Buffer.from(await range.arrayBuffer()), bytes.subarray(100, 200))
  })

  await t.test('a resumable upload that goes on at another process starts again, and ends', async (t) => {
    const bytes = randomBytes(50_000)
    const base64 = (value: string) => Buffer.from(value).toString('base64')
    const metadata = [
      `method ${base64('model_store.model.put')}`,
      `data ${base64(JSON.stringify(DATA))}`,
      `sha256 ${base64(sha256Of(bytes))}`,
    ].join(',')
    const tus = { ...admin, 'Tus-Resumable': '1.0.0' }
    const made = await fetch(`${one.url}${UPLOADS}`, {
      method: 'POST',
      headers: { ...tus, 'Upload-Length': '50000', 'Upload-Metadata': metadata },
    })
    t.equal(made.status, 201, await made.text())
    const at = made.headers.get('location') ?? ''
    const patch = (url: string, offset: number, end: number) =>
      fetch(`${url}${at}`, {
        method: 'PATCH',
        headers: { ...tus, 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': `${offset}` },
        body: bytes.subarray(offset, end),
      })
    t.equal((await patch(one.url, 0, 20_000)).status, 204)
    const other = await patch(two.url, 20_000, 50_000)
    t.equal(other.status, 503)
    t.match(await other.text(), /starts again at 0/)
    const head = await fetch(`${two.url}${at}`, { method: 'HEAD', headers: tus })
    t.equal(head.headers.get('upload-offset'), '0')
    const done = await patch(two.url, 0, 50_000)
    t.equal(done.status, 200)
    t.equal(await download(one.url, done.headers.get('x-model-id') ?? ''), sha256Of(bytes))
  })

  await t.test('hub.presign: a large model comes from the store, for who asks', async (t) => {
    const settings = JSON.parse(readFileSync(place.config, 'utf8'))
    const config = `${place.config}.presign.json`
    writeFileSync(config, JSON.stringify({ ...settings, hub: { ...settings.hub, presign: true } }), {
      mode: 0o600,
    })
    const signing = await serveHub(t, { ...place, config }, 'three')
    const [large, small] = [randomBytes(1_200_000), randomBytes(1000)]
    const [idOfLarge, idOfSmall] = [await put(one.url, large), await put(one.url, small)]
    const ask = (url: string, id: string, query: string, method = 'GET', headers = admin) =>
      fetch(`${url}/api/v2/model_store/models/${id}/file${query}`, { method, headers, redirect: 'manual' })
    const answer = await ask(signing.url, idOfLarge, '?redirect=yes')
    t.equal(answer.status, 307)
    t.equal(answer.headers.get('cache-control'), 'no-store')
    const link = answer.headers.get('location') ?? ''
    const bytes = await fetch(link) // without credentials
    t.equal(sha256Of(new Uint8Array(await bytes.arrayBuffer())), sha256Of(large))
    const part = await fetch(link, { headers: { Range: 'bytes=5-9' } })
    t.same(Buffer.from(await part.arrayBuffer()), large.subarray(5, 10))
    const forged = await fetch(link.replace('X-Amz-Expires=300', 'X-Amz-Expires=30000'))
    t.equal(forged.status, 403)
    await forged.body?.cancel()
    for (const [url, id, query, method, status] of [
      [signing.url, idOfLarge, '', 'GET', 200],
      [signing.url, idOfLarge, '?redirect=no', 'GET', 200],
      [signing.url, idOfLarge, '?redirect=yes', 'HEAD', 200],
      [signing.url, idOfSmall, '?redirect=yes', 'GET', 200],
      [one.url, idOfLarge, '?redirect=yes', 'GET', 200],
      [signing.url, idOfLarge, '?redirect=maybe', 'GET', 400],
      [signing.url, 'nothing', '?redirect=yes', 'GET', 404],
    ] as const) {
      const other = await ask(url, id, query, method)
      t.equal(other.status, status, `${method} ${query} ${status}`)
      await other.body?.cancel()
    }
    t.equal((await ask(signing.url, idOfLarge, '?redirect=yes', 'GET', {})).status, 401)
  })

  await t.test('stores, and what goes further up', async (t) => {
    const stores = await hubCall(two, admin, MODEL_STORE_PATH, 'model_store.list')
    t.equal(stores.body.result?.length, 1, JSON.stringify(stores.body))
    const refused = await hubCall(one, admin, '/api/v2/fl/jsonrpc', 'fl.list_transfers')
    t.match(refused.body, { error: { code: 11014 } })
  })
})
