import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createS3Client } from '../../../src/files/s3/client.js'
import { listFolders } from '../../../src/files/s3/store.js'
import { MODEL_STORE_PATH } from '../../../src/gateway/apis.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { DATA } from '../../support/models.js'
import { pairHeaders } from '../../support/start-gateway.js'
import { swiftOptions } from '../../support/swift.js'

const skip = noHub()
const UPLOADS = '/api/v2/model_store/uploads'
/** `hub.bytes.prefix`, unless it is set */
const PREFIX = 'fieldgate/'

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

  const base64 = (value: string) => Buffer.from(value).toString('base64')
  const tus = { ...admin, 'Tus-Resumable': '1.0.0' }
  const begin = async (url: string, bytes: Uint8Array) => {
    const metadata = [
      `method ${base64('model_store.model.put')}`,
      `data ${base64(JSON.stringify(DATA))}`,
      `sha256 ${base64(sha256Of(bytes))}`,
    ].join(',')
    const made = await fetch(`${url}${UPLOADS}`, {
      method: 'POST',
      headers: { ...tus, 'Upload-Length': String(bytes.length), 'Upload-Metadata': metadata },
    })
    t.equal(made.status, 201, await made.text())
    return made.headers.get('location') ?? ''
  }
  const patch = (url: string, at: string, offset: number, body: Uint8Array<ArrayBuffer>, more = {}) =>
    fetch(`${url}${at}`, {
      method: 'PATCH',
      headers: {
        ...{ ...tus, ...more },
        ...{ 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': `${offset}` },
      },
      body,
    })
  const offsetOf = async (url: string, at: string) =>
    (await fetch(`${url}${at}`, { method: 'HEAD', headers: tus })).headers.get('upload-offset')
  const folders = async () => {
    const client = createS3Client(swiftOptions(engines.swift, place.bucket))
    const found: string[] = []
    for await (const folder of listFolders(client, `${PREFIX}uploads/`)) found.push(folder)
    client.close()
    return found
  }

  await t.test('a resumable upload goes on at another process, forth and back', async (t) => {
    const bytes = randomBytes(50_000)
    const at = await begin(one.url, bytes)
    t.equal((await patch(one.url, at, 0, bytes.subarray(0, 20_000))).status, 204)
    t.equal(await offsetOf(two.url, at), '20000')
    t.equal((await patch(two.url, at, 20_000, bytes.subarray(20_000, 30_000))).status, 204)
    t.same(await folders(), [path.basename(at)])
    const behind = await patch(one.url, at, 20_000, bytes.subarray(20_000, 25_000))
    t.equal(behind.status, 409, 'who did not ask for the offset')
    await behind.body?.cancel()
    const sum = createHash('sha1').update(bytes.subarray(30_000, 40_000)).digest('base64')
    const checked = { 'Upload-Checksum': `sha1 ${sum}` }
    t.equal((await patch(one.url, at, 30_000, bytes.subarray(30_000, 40_000), checked)).status, 204)
    const done = await patch(two.url, at, 40_000, bytes.subarray(40_000))
    t.equal(done.status, 200)
    t.equal(await download(one.url, done.headers.get('x-model-id') ?? ''), sha256Of(bytes))
    t.same(await folders(), [], 'its pieces are gone')
    t.equal(await offsetOf(one.url, at), '50000', 'an answer that was lost can be asked for')
  })

  await t.test('a resumable upload survives the process that held it, and its disk', async (t) => {
    const bytes = randomBytes(20_000_000)
    const third = await serveHub(t, place, 'taker')
    const at = await begin(third.url, bytes)
    t.equal((await patch(third.url, at, 0, bytes.subarray(0, 15_000_000))).status, 204)
    await third.stop()
    rmSync(path.join(place.dir, 'taker'), { recursive: true, force: true })
    t.equal(await offsetOf(two.url, at), '15000000')
    const done = await patch(two.url, at, 15_000_000, bytes.subarray(15_000_000))
    t.equal(done.status, 200, await done.text())
    t.equal(await download(one.url, done.headers.get('x-model-id') ?? ''), sha256Of(bytes))
  })

  await t.test('a resumable upload whose pieces are lost starts again', async (t) => {
    const bytes = randomBytes(50_000)
    const at = await begin(one.url, bytes)
    t.equal((await patch(one.url, at, 0, bytes.subarray(0, 20_000))).status, 204)
    const client = createS3Client(swiftOptions(engines.swift, place.bucket))
    const key = `${PREFIX}uploads/${path.basename(at)}/${sha256Of(bytes.subarray(0, 20_000))}`
    ;(await client.send({ method: 'DELETE', key }))?.resume()
    client.close()
    const { stdout } = await hubCli(place, 'hub', 'doctor', '--json', '--sizes')
    const checks: { name: string; findings: object[] }[] = JSON.parse(stdout).checks
    t.match(
      checks.find(({ name }) => name === 'uploads'),
      {
        findings: [
          { state: 'warning', message: new RegExp(`^upload ${path.basename(at)}, piece .*found no bytes`) },
        ],
      },
    )
    const other = await patch(two.url, at, 20_000, bytes.subarray(20_000))
    t.equal(other.status, 503)
    t.match(await other.text(), /starts again at 0/)
    t.equal(await offsetOf(one.url, at), '0')
    const done = await patch(two.url, at, 0, bytes)
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
