import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { encodeHead, encodeNumbers } from '../../../src/models/delta/format.js'
import { deltaOf, patched } from '../../support/deltas.js'
import { DATA, FL, modelsOf, putModel } from '../../support/models.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'

const UPLOADS = '/api/v2/model_store/uploads'
const BASE = randomBytes(400_000)
const NEXT = Buffer.from(BASE)
NEXT.set(randomBytes(500), 70_000)
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function setUp(t: Test, settings: object = {}) {
  const gateway = await startGateway(t, { settings: { limits: { modelBytes: 1_000_000 }, ...settings } })
  const key = await gateway.makeKey(['model:write'])
  const send = (path: string, init: RequestInit, more: Record<string, string> = {}) =>
    fetch(`${gateway.url}${path}`, { ...init, headers: { ...pairHeaders(key), ...more } })
  /** uploads a delta with tus. @returns the answer to its first refused request, or to its last byte */
  const upload = async (delta: Buffer<ArrayBuffer>, change: Record<string, string> = {}) => {
    const metadata = {
      method: 'model_store.model.put',
      data: JSON.stringify(DATA),
      sha256: digest(NEXT),
      delta_base: digest(BASE),
      delta_sha256: digest(delta),
      model_size: String(NEXT.length),
      ...change,
    }
    const pairs = Object.entries(metadata).map(([name, text]) => `${name} ${btoa(text)}`)
    const tus = { 'Tus-Resumable': '1.0.0' }
    const lengths = { 'Upload-Length': String(delta.length), 'Upload-Metadata': pairs.join(',') }
    const created = await send(UPLOADS, { method: 'POST' }, { ...tus, ...lengths })
    if (created.status !== 201) return created
    const type = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': '0' }
    const init = { method: 'PATCH', body: delta }
    return await send(created.headers.get('location') ?? '', init, { ...tus, ...type })
  }
  return { gateway, send, upload }
}

t.test('deltas over HTTP: a client uploads one, and downloads one with ranges', async (t) => {
  const { gateway, send, upload } = await setUp(t)
  await putModel(gateway, BASE)
  const delta = (await deltaOf(BASE, NEXT)) as Buffer<ArrayBuffer>
  const answer = await upload(delta)
  const info = (await answer.json()) as { model_id: string }
  t.match(info, { model_sha256: digest(NEXT), model_size: NEXT.length })
  const file = (query: string, headers = {}) =>
    send(`/api/v2/model_store/models/${info.model_id}/file${query}`, {}, headers)
  const bases = `?bases=${'f'.repeat(64)},${digest(BASE)}`
  const whole = await file(bases)
  const bytes = Buffer.from(await whole.arrayBuffer())
  t.ok((await patched(BASE, bytes)).equals(NEXT))
  t.equal(whole.headers.get('delta-base'), `"${digest(BASE)}"`)
  t.equal(whole.headers.get('content-type'), 'application/vnd.fieldgate.model-delta')
  const etag = whole.headers.get('etag') ?? ''
  t.equal(etag, `"${digest(bytes)}"`)
  const rest = await file(bases, { Range: 'bytes=100-', 'If-Range': etag })
  t.same([rest.status, rest.headers.get('etag')], [206, etag])
  t.ok(Buffer.from(await rest.arrayBuffer()).equals(bytes.subarray(100)))
  const plain = await file(`?bases=${'f'.repeat(64)}`)
  t.equal(plain.headers.get('delta-base'), null)
  t.ok(Buffer.from(await plain.arrayBuffer()).equals(NEXT))
  for (const wrong of ['?bases=abc', `?bases=${digest(BASE)},`, `?bases=${`${digest(BASE)},`.repeat(17)}`])
    t.match(await (await file(wrong)).json(), {
      error: { message: /^bases: found .*expected 1 to 16 digests/ },
    })
})

t.test('deltas over HTTP: hostile ones are refused, and nothing is registered', async (t) => {
  const { gateway, upload } = await setUp(t)
  await putModel(gateway, BASE)
  const right = await deltaOf(BASE, NEXT)
  const from = { sizeBytes: BASE.length, sha256: digest(BASE) }
  const sealed = (result: { sizeBytes: number; sha256: string }, ...blocks: Buffer[]) => {
    const bytes = Buffer.concat([encodeHead({ base: from, result }), ...blocks, Buffer.from([0])])
    return Buffer.concat([bytes, createHash('sha256').update(bytes).digest()])
  }
  const to = { sizeBytes: NEXT.length, sha256: digest(NEXT) }
  const flipped = Buffer.from(right)
  flipped[150] = (flipped[150] ?? 0) ^ 16
  const bomb = { sizeBytes: 999_999, sha256: digest(NEXT) }
  for (const [name, delta, change] of [
    ['a flipped bit', flipped],
    ['cut', right.subarray(0, -40)],
    ['noise', randomBytes(300)],
    ['another result', await deltaOf(BASE, BASE)],
    ['fewer bytes than promised', sealed(to, encodeNumbers(1, 0, 5))],
    ['bytes of the base beyond its end', sealed(to, encodeNumbers(1, BASE.length, 5))],
    [
      'more than it promises',
      sealed(to, ...Array.from({ length: 9 }, () => encodeNumbers(1, 0, BASE.length))),
    ],
    ['a bomb below the limit', sealed(bomb, encodeNumbers(1, 0, BASE.length)), { model_size: '999999' }],
    ['a digest of the model that is another', right, { sha256: 'e'.repeat(64) }],
    ['a base that is not stored', right, { delta_base: 'e'.repeat(64) }],
  ] as [string, Buffer<ArrayBuffer>, Record<string, string>?][]) {
    const answer = await upload(delta, change)
    t.equal(answer.status, 422, name)
    t.match(await answer.json(), { error: { data: { name: 'BAD_DELTA' } } }, name)
  }
  for (const [name, change, status] of [
    ['beyond limits.modelBytes', { model_size: '1000001' }, 413],
    ['not smaller', { model_size: String(right.length) }, 400],
    ['no size', { model_size: '1e9' }, 400],
    ['no digest', { delta_sha256: 'x' }, 400],
  ] as [string, Record<string, string>, number][])
    t.equal((await upload(right as Buffer<ArrayBuffer>, change)).status, status, name)
  t.equal((await modelsOf(gateway)).length, 1)
  const announced = { sha256: digest(NEXT), size: 2 ** 40, data: DATA, delta: { base: digest(BASE) } }
  const answer = await gateway.call(FL, 'fl.announce', announced)
  t.equal(answer.body.error.code, -32602)
})

t.test('deltas over HTTP: refused where they are off', async (t) => {
  const { gateway, upload } = await setUp(t, { sync: { deltas: false } })
  await putModel(gateway, BASE)
  const answer = await upload((await deltaOf(BASE, NEXT)) as Buffer<ArrayBuffer>)
  t.equal(answer.status, 400)
  t.match(await answer.json(), { error: { message: /takes no deltas \(sync\.deltas\)/ } })
})
