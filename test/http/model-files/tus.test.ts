import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import t from 'tap'
import { prepareDataDir } from '../../../src/cli/serving/prepare.js'
import { layoutOf } from '../../../src/files/layout.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import { DATA, FL, LOCAL_SYNC, modelsOf, until } from '../../support/models.js'
import { type KeyPair, pairHeaders, startGateway, type TestGateway } from '../../support/start-gateway.js'

const UPLOADS = '/api/v2/model_store/uploads'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

interface Tus {
  send(
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: Uint8Array<ArrayBuffer>,
  ): Promise<Response>
  create(bytes: Uint8Array, change?: Record<string, string>): Promise<Response>
}

function client(gateway: TestGateway, key: KeyPair = gateway.admin): Tus {
  const send: Tus['send'] = (method, path, headers = {}, body) =>
    fetch(`${gateway.url}${path}`, {
      method,
      headers: { ...pairHeaders(key), 'tus-resumable': '1.0.0', ...headers },
      ...(body === undefined ? {} : { body }),
    })
  return {
    send,
    create(bytes, change = {}) {
      const metadata = {
        method: 'model_store.model.put',
        data: JSON.stringify(DATA),
        sha256: sha256(bytes).toString('hex'),
      }
      const pairs = Object.entries({ ...metadata, ...change }).map(
        ([name, value]) => `${name} ${base64(value)}`,
      )
      return send('POST', UPLOADS, {
        'upload-length': String(bytes.length),
        'upload-metadata': pairs.join(','),
      })
    },
  }
}

const patch = (offset: number, more: Record<string, string> = {}) => ({
  'content-type': 'application/offset+octet-stream',
  'upload-offset': String(offset),
  ...more,
})

t.test('tus: in pieces with checksums, then the model is there', async (t) => {
  const gateway = await startGateway(t)
  const tus = client(gateway)
  const options = await tus.send('OPTIONS', UPLOADS)
  t.equal(options.headers.get('tus-extension'), 'creation,checksum,expiration,termination')
  t.equal(options.headers.get('tus-checksum-algorithm'), 'sha1,sha256')
  t.equal(options.headers.get('access-control-allow-origin'), null)
  const bytes = randomBytes(100_000)
  const created = await tus.create(bytes)
  t.equal(created.status, 201)
  const path = created.headers.get('location') ?? ''
  t.match(path, /^\/api\/v2\/model_store\/uploads\/[0-9a-f-]{36}$/, 'relative: a forged Host stays out')
  const piece = bytes.subarray(0, 60_000)
  const wrong = await tus.send(
    'PATCH',
    path,
    patch(0, { 'upload-checksum': `sha1 ${base64('x'.repeat(20))}` }),
    piece,
  )
  t.equal(wrong.status, 460)
  const sha1 = createHash('sha1').update(piece).digest('base64')
  const right = await tus.send('PATCH', path, patch(0, { 'upload-checksum': `sha1 ${sha1}` }), piece)
  t.same([right.status, right.headers.get('upload-offset')], [204, '60000'])
  t.equal((await tus.send('PATCH', path, patch(0), piece)).status, 409, 'a stale offset')
  const head = await tus.send('HEAD', path)
  t.same([head.headers.get('upload-offset'), head.headers.get('upload-length')], ['60000', '100000'])
  const rest = bytes.subarray(60_000)
  const last = await tus.send(
    'PATCH',
    path,
    patch(60_000, { 'upload-checksum': `sha256 ${sha256(rest).toString('base64')}` }),
    rest,
  )
  t.equal(last.status, 200)
  const info = (await last.json()) as { model_id: string; model_sha256: string }
  t.equal(last.headers.get('x-model-id'), info.model_id)
  t.equal(info.model_sha256, sha256(bytes).toString('hex'))
  t.equal((await modelsOf(gateway)).length, 1)
  const again = await tus.send('PATCH', path, patch(100_000))
  t.equal(((await again.json()) as typeof info).model_id, info.model_id, 'finished again answers the same')
})

t.test('tus: refusals', async (t) => {
  const gateway = await startGateway(t, {
    settings: { limits: { modelBytes: 1_000_000 }, modelStore: { maxOpenUploads: 2 } },
  })
  const tus = client(gateway)
  const bytes = randomBytes(1000)
  const path = (await tus.create(bytes)).headers.get('location') ?? ''
  t.equal((await fetch(`${gateway.url}${path}`, { method: 'HEAD' })).status, 401)
  t.equal(
    (await client(gateway, await gateway.makeKey(['model:write'])).send('HEAD', path)).status,
    404,
    'of another key',
  )
  t.equal((await client(gateway, await gateway.makeKey(['model:read'])).send('HEAD', path)).status, 403)
  t.equal((await tus.send('HEAD', `${UPLOADS}/..%2f..%2fstate.db`)).status, 404)
  t.equal(
    (await tus.send('PATCH', path, { 'content-type': 'text/plain', 'upload-offset': '0' }, bytes)).status,
    400,
  )
  t.equal((await tus.send('PATCH', path, patch(0, { 'tus-resumable': '0.1' }), bytes)).status, 400)
  t.equal((await tus.send('PATCH', path, patch(0, { 'upload-checksum': 'md5 AAAA' }), bytes)).status, 400)
  t.equal((await tus.send('PATCH', path, patch(0), randomBytes(2000))).status, 413, 'more than was announced')
  t.equal((await tus.create(randomBytes(10), { sha256: 'no' })).status, 400)
  t.equal((await tus.create(randomBytes(10), { data: '{' })).status, 400)
  t.equal((await tus.create(randomBytes(10), { method: 'model_store.model.nothing' })).status, 400)
  t.equal((await tus.create(randomBytes(1_000_001))).status, 413)
  const wrong = (await tus.create(bytes, { sha256: 'ab'.repeat(32) })).headers.get('location') ?? ''
  t.equal((await tus.create(bytes)).status, 429, 'too many unfinished ones')
  t.equal(
    (await tus.send('PATCH', wrong, patch(0), bytes)).status,
    460,
    'the whole digest is checked at the end',
  )
  t.equal((await tus.send('HEAD', wrong)).status, 404, 'and the upload is gone')
  t.equal((await tus.send('DELETE', path)).status, 204)
  t.equal((await tus.send('HEAD', path)).status, 404)
  t.same(await modelsOf(gateway), [])
})

t.test('tus: a cut connection leaves an offset that is on disk, and a hung one lets go', async (t) => {
  const gateway = await startGateway(t)
  const tus = client(gateway)
  const bytes = randomBytes(500_000)
  const path = (await tus.create(bytes)).headers.get('location') ?? ''
  const begin = (from: number) => {
    const socket = net.connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    const { apiKey, secret } = gateway.admin
    socket.write(
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAPIKey: ${apiKey}\r\nSecret: ${secret}\r\nTus-Resumable: 1.0.0\r\n` +
        `Content-Type: application/offset+octet-stream\r\nUpload-Offset: ${from}\r\nContent-Length: ${bytes.length - from}\r\n\r\n`,
    )
    return socket
  }
  const offset = async () => Number((await tus.send('HEAD', path)).headers.get('upload-offset'))
  const cut = begin(0)
  cut.write(bytes.subarray(0, 123_456), () => cut.end())
  await until('every byte that was sent counts', async () => (await offset()) === 123_456)
  const hung = begin(123_456)
  hung.write(bytes.subarray(123_456, 200_000))
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(await offset(), 200_000, 'the newcomer asks the one that hangs to let go')
  hung.destroy()
  const last = await tus.send('PATCH', path, patch(200_000), bytes.subarray(200_000))
  t.equal(last.status, 200)
  t.match(await last.json(), { model_sha256: sha256(bytes).toString('hex') })
})

t.test('tus: what is announced twice is one upload, and too large is refused', async (t) => {
  const gateway = await startGateway(t, { settings: { sync: LOCAL_SYNC } })
  const announced = await gateway.call(FL, 'fl.announce', {
    sha256: 'ab'.repeat(32),
    size: 10,
    data: { ...DATA, origin: { node: 'n', model_id: 'm' } },
  })
  t.match(announced.body.result, { have: false, offset: 0, upload_url: new RegExp(`^${UPLOADS}/`) })
  const same = await gateway.call(FL, 'fl.announce', {
    sha256: 'ab'.repeat(32),
    size: 10,
    data: { ...DATA, origin: { node: 'n', model_id: 'm' } },
  })
  t.equal(same.body.result.upload_url, announced.body.result.upload_url, 'the one that was begun')
  const large = await gateway.call(FL, 'fl.announce', {
    sha256: 'ab'.repeat(32),
    size: 1e15,
    data: { ...DATA, origin: { node: 'n', model_id: 'm' } },
  })
  t.equal(large.body.error.data.name, 'BODY_TOO_LARGE')
})

/**
 * Leaves an upload as a crash between its last byte and its row does: complete in the database, without a
 * model. @param isMoved true when the bytes have their digest name already
 */
async function cutOff(dataDir: string, keyId: string, bytes: Uint8Array, isMoved: boolean): Promise<string> {
  const layout = layoutOf(dataDir)
  const digest = sha256(bytes).toString('hex')
  const uploadId = randomUUID()
  const state = await openState(layout.stateDb)
  const params = JSON.stringify(FACTS)
  await state.uploads.create({ uploadId, keyId, sha256: digest, sizeBytes: bytes.length, params })
  await state.uploads.advance(uploadId, bytes.length)
  await state.close()
  const folder = path.join(layout.modelsDir, digest.slice(0, 2))
  mkdirSync(folder, { recursive: true })
  writeFileSync(isMoved ? path.join(folder, digest) : path.join(layout.partsDir, `${uploadId}.part`), bytes)
  return uploadId
}

const FACTS = {
  store: 'rain',
  kind: 'k',
  description: 'd',
  meta: {},
  state: 10,
  hopCount: 0,
  round: 0,
  tenantId: 'admin',
  origin: null,
  chain: [],
}

for (const isMoved of [true, false]) {
  const where = isMoved ? 'after the move of its bytes' : 'before the move of its bytes'
  t.test(`tus: an upload cut off ${where} is registered at the start`, async (t) => {
    const dataDir = path.join(t.testdir(), 'data')
    const { apiKey } = await prepareDataDir(layoutOf(dataDir))
    const bytes = randomBytes(50_000)
    await cutOff(dataDir, apiKey ?? '', bytes, isMoved)
    const gateway = await startGateway(t, { dataDir })
    await until('the model is there', async () => (await modelsOf(gateway)).length === 1)
    t.match(await modelsOf(gateway), [{ model_sha256: sha256(bytes).toString('hex') }])
  })

  t.test(`tus: HEAD says complete only when registered, ${where}`, async (t) => {
    const gateway = await startGateway(t)
    const bytes = randomBytes(50_000)
    const uploadId = await cutOff(gateway.dataDir, gateway.admin.apiKey, bytes, isMoved)
    const tus = client(gateway)
    const heads = await Promise.all([1, 2].map(() => tus.send('HEAD', `${UPLOADS}/${uploadId}`)))
    t.same(
      heads.map((head) => head.headers.get('upload-offset')),
      ['50000', '50000'],
    )
    const [model] = await modelsOf(gateway)
    t.equal(model.model_sha256, sha256(bytes).toString('hex'))
    const last = await tus.send('PATCH', `${UPLOADS}/${uploadId}`, patch(50_000))
    t.match(await last.json(), { model_id: model.model_id })
    t.equal((await modelsOf(gateway)).length, 1)
  })
}

t.test('tus: HEAD of a complete upload whose bytes are others is an error, not "complete"', async (t) => {
  const gateway = await startGateway(t)
  const bytes = randomBytes(50_000)
  const uploadId = await cutOff(gateway.dataDir, gateway.admin.apiKey, bytes, false)
  writeFileSync(path.join(layoutOf(gateway.dataDir).partsDir, `${uploadId}.part`), randomBytes(50_000))
  t.equal((await client(gateway).send('HEAD', `${UPLOADS}/${uploadId}`)).status, 460)
  t.same(await modelsOf(gateway), [])
})
