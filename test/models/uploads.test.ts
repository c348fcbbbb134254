import { createHash, randomBytes } from 'node:crypto'
import { truncateSync, writeFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import type { NewUpload, Uploads } from '../../src/models/uploads.js'
import type { UploadRecord } from '../../src/storage/models/uploads.js'
import { attemptParts, SUPPLIED, uuid } from '../support/attempts.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(3000)
const digest = (algorithm: 'sha1' | 'sha256', bytes: Uint8Array) =>
  createHash(algorithm).update(bytes).digest()
const SHA256 = digest('sha256', BYTES).toString('hex')

async function setUp(t: Test) {
  const at = await attemptParts(t)
  const { parts } = at.deps
  const space = { asked: [] as number[], isFull: false }
  const open = () =>
    at.openUploads({
      async requireSpace(bytes) {
        space.asked.push(bytes)
        if (space.isFull) throw new AppError('DISK_FULL')
      },
    })
  const uploads = open()
  const create = (change: Partial<NewUpload> = {}) =>
    uploads.create({
      uploadId: uuid(1),
      keyId: 'key',
      sha256: SHA256,
      sizeBytes: 3000,
      facts: SUPPLIED,
      ...change,
    })
  /** appends bytes where the upload stands, in chunks of 700 */
  const append = async (bytes: Uint8Array, checksum?: Parameters<Uploads['append']>[2], by = uploads) =>
    await by.append(await rowOf(uuid(1)), chunksOf(Buffer.from(bytes), 700), checksum)
  const rowOf = async (uploadId: string): Promise<UploadRecord> => {
    const row = await at.state.uploads.find(uploadId)
    if (row === undefined) throw new Error(`upload ${uploadId} is missing`)
    return row
  }
  return { ...at, parts, space, uploads, open, create, append, rowOf }
}

t.test('uploads: bytes in pieces become a model, and the part goes', async (t) => {
  const { create, append, uploads, rowOf, parts, deps, state } = await setUp(t)
  const { createdAtUs } = await create()
  t.equal(await append(BYTES.subarray(0, 1000)), 1000)
  t.equal((await rowOf(uuid(1))).offsetBytes, 1000)
  t.equal(await append(BYTES.subarray(1000)), 3000)
  const model = await uploads.finish(uuid(1))
  t.match(model, { sha256: SHA256, sizeBytes: 3000, kind: 'kind', round: 3, startUs: createdAtUs })
  t.same(await parts.list(), [])
  t.same(await deps.blobs.stat(SHA256), { sizeBytes: 3000 })
  t.equal((await uploads.finish(uuid(1))).modelId, model.modelId, 'a second call answers the same model')
  t.match(await state.models.counts(), { models: 1 })
})

t.test('uploads: UNKNOWN_MODEL for a finished one whose model was deleted since', async (t) => {
  const { create, append, uploads, state } = await setUp(t)
  await create({ facts: { ...SUPPLIED, state: 20 } })
  await append(BYTES)
  const { modelId } = await uploads.finish(uuid(1))
  await state.models.remove(modelId)
  await state.models.purge()
  await rejectsWith(t, uploads.finish(uuid(1)), 'UNKNOWN_MODEL', { data: { model_id: modelId } })
  t.match(await state.models.counts(), { models: 0 })
})

t.test(
  'uploads: more bytes than announced are BODY_TOO_LARGE, and none to a complete one are read',
  async (t) => {
    const { create, append, rowOf } = await setUp(t)
    await create()
    await rejectsWith(t, append(Buffer.concat([BYTES, Buffer.from('x')])), 'BODY_TOO_LARGE')
    await append(BYTES.subarray((await rowOf(uuid(1))).offsetBytes))
    t.equal(await append(Buffer.from('more')), 3000)
  },
)

t.test(
  'uploads: bytes that are being registered are not written again, as a hub tells no last offset',
  async (t) => {
    const { state, openUploads, create, append, rowOf, deps } = await setUp(t)
    const reads = { isHeld: Promise.resolve() }
    const uploads = openUploads({
      requireSpace: async () => undefined,
      uploads: {
        ...state.uploads,
        // the last bytes of an upload of a hub are acknowledged with its model
        advance: async (id, offset) => (offset === 3000 ? undefined : state.uploads.advance(id, offset)),
      },
      blobs: {
        ...deps.blobs,
        async stageFile(file, facts) {
          await reads.isHeld
          return await deps.blobs.stageFile(file, facts)
        },
      },
    })
    await create()
    await append(BYTES.subarray(0, 1000), undefined, uploads)
    const gate = Promise.withResolvers<void>()
    reads.isHeld = gate.promise
    t.equal(await append(BYTES.subarray(1000), undefined, uploads), 3000)
    t.equal((await rowOf(uuid(1))).offsetBytes, 1000)
    const others = randomBytes(2000)
    const before = append(others, undefined, uploads)
    const registered = uploads.finish(uuid(1))
    const during = append(others, undefined, uploads)
    await turn()
    gate.resolve()
    t.same(await Promise.all([before, during]), [3000, 3000])
    const { sha256 } = await registered
    t.equal(sha256, SHA256)
    const stored = await deps.blobs.open(SHA256)
    const read: Uint8Array[] = []
    for await (const chunk of stored ?? []) read.push(Buffer.from(chunk))
    t.ok(Buffer.concat(read).equals(BYTES))
    t.match(await state.models.counts(), { models: 1 })
  },
)

t.test('uploads: a restart continues at the offset and reads the part for its digest', async (t) => {
  const { create, append, open } = await setUp(t)
  await create()
  await append(BYTES.subarray(0, 1000))
  const second = open()
  await append(BYTES.subarray(1000), undefined, second)
  t.match(await second.finish(uuid(1)), { sha256: SHA256, sizeBytes: 3000 })
})

t.test('uploads: the bytes before a source that breaks are kept and followed', async (t) => {
  const { create, append, uploads, rowOf, parts } = await setUp(t)
  await create()
  const broken = async function* () {
    yield BYTES.subarray(0, 500)
    throw new Error('the link broke')
  }
  await t.rejects(uploads.append(await rowOf(uuid(1)), broken()), /the link broke/)
  t.equal((await rowOf(uuid(1))).offsetBytes, 500)
  let reads = 0
  const { read } = parts
  parts.read = (...args) => {
    reads++
    return read(...args)
  }
  await append(BYTES.subarray(500))
  t.match(await uploads.finish(uuid(1)), { sha256: SHA256 })
  t.equal(reads, 0, 'the digest was followed over the break')
})

t.test('uploads: DIGEST_MISMATCH at the end removes the upload', async (t) => {
  for (const isRestarted of [false, true]) {
    const { create, append, uploads, open, state, parts } = await setUp(t)
    await create()
    const wrong = Buffer.from(BYTES)
    wrong[0] = (wrong[0] ?? 0) ^ 1
    await append(wrong)
    const found = digest('sha256', wrong).toString('hex')
    await rejectsWith(t, (isRestarted ? open() : uploads).finish(uuid(1)), 'DIGEST_MISMATCH', {
      message: new RegExp(`^Found 3000 bytes of the SHA-256 ${found}, expected 3000 of ${SHA256}$`),
      data: { found, expected: SHA256 },
    })
    t.same([await state.uploads.ids(), await parts.list()], [[], []])
    t.match(await state.models.counts(), { models: 0 })
  }
})

t.test('uploads: a truncated part is found by its size after a restart', async (t) => {
  const { create, append, open, parts } = await setUp(t)
  await create()
  await append(BYTES)
  truncateSync(parts.pathOf(uuid(1)), 2000)
  await rejectsWith(t, open().finish(uuid(1)), 'DIGEST_MISMATCH', { message: /^Found 2000 bytes/ })
})

t.test('uploads: a part shorter than its row starts again at 0', async (t) => {
  const { create, append, rowOf, parts } = await setUp(t)
  await create()
  await append(BYTES.subarray(0, 2000))
  truncateSync(parts.pathOf(uuid(1)), 1000)
  await t.rejects(append(BYTES.subarray(2000)), /are not here any more: it starts again at 0/)
  t.equal((await rowOf(uuid(1))).offsetBytes, 0)
  t.equal(await append(BYTES), 3000)
})

t.test('uploads: a checksum keeps all bytes of an append or none', async (t) => {
  for (const algorithm of ['sha1', 'sha256'] as const) {
    const { create, append, uploads, rowOf } = await setUp(t)
    await create()
    const first = BYTES.subarray(0, 1000)
    t.equal(await append(first, { algorithm, digest: digest(algorithm, first) }), 1000)
    const rest = BYTES.subarray(1000)
    const wrong = digest(algorithm, Buffer.from('other'))
    await rejectsWith(t, append(rest, { algorithm, digest: wrong }), 'DIGEST_MISMATCH', {
      message: new RegExp(`^Found bytes of the ${algorithm} [0-9a-f]+, expected ${wrong.toString('hex')}$`),
    })
    t.equal((await rowOf(uuid(1))).offsetBytes, 1000)
    t.equal(await append(rest, { algorithm, digest: digest(algorithm, rest) }), 3000)
    t.match(await uploads.finish(uuid(1)), { sha256: SHA256 }, 'the digest followed the kept bytes only')
  }
})

t.test('uploads: with a checksum a source that breaks leaves nothing', async (t) => {
  const { create, uploads, rowOf, parts } = await setUp(t)
  await create()
  const broken = async function* () {
    yield BYTES.subarray(0, 500)
    throw new Error('the link broke')
  }
  const checksum = { algorithm: 'sha1', digest: digest('sha1', BYTES) } as const
  await t.rejects(uploads.append(await rowOf(uuid(1)), broken(), checksum), /the link broke/)
  t.equal((await rowOf(uuid(1))).offsetBytes, 0)
  t.same(Buffer.concat(await Array.fromAsync(parts.read(uuid(1), 3000))).length, 0)
})

t.test('uploads: after a restart a checksum is checked, and the digest read from the part', async (t) => {
  const { create, append, open } = await setUp(t)
  await create()
  await append(BYTES.subarray(0, 1000))
  const second = open()
  const rest = BYTES.subarray(1000)
  await append(rest, { algorithm: 'sha1', digest: digest('sha1', rest) }, second)
  t.match(await second.finish(uuid(1)), { sha256: SHA256 })
})

t.test('uploads: a crash between the move of the bytes and the row is made good', async (t) => {
  const { create, append, open, parts, deps } = await setUp(t)
  await create()
  await append(BYTES)
  const facts = { sha256: SHA256, md5: createHash('md5').update(BYTES).digest('hex'), sizeBytes: 3000 }
  await (await deps.blobs.stageFile(parts.pathOf(uuid(1)), facts)).keep()
  const model = await open().finish(uuid(1))
  t.match(model, facts)
  t.same(await deps.blobs.stat(SHA256), { sizeBytes: 3000 }, 'the bytes are still there')
})

t.test('uploads: a model without bytes', async (t) => {
  const { create, uploads, deps } = await setUp(t)
  const sha256 = digest('sha256', Buffer.alloc(0)).toString('hex')
  await create({ sizeBytes: 0, sha256 })
  t.match(await uploads.finish(uuid(1)), { sha256, sizeBytes: 0 })
  t.same(await deps.blobs.stat(sha256), { sizeBytes: 0 })
})

t.test('uploads: an error when the row of a running upload is missing', async (t) => {
  const { uploads } = await setUp(t)
  await t.rejects(uploads.finish(uuid(9)), /the row of a running upload is missing/)
})

t.test('uploads: DISK_FULL and TOO_MANY_UPLOADS make no upload', async (t) => {
  const { create, space, state } = await setUp(t)
  space.isFull = true
  await rejectsWith(t, create(), 'DISK_FULL')
  t.same([space.asked, await state.uploads.ids()], [[3000], []])
  space.isFull = false
  await create({ uploadId: uuid(1) })
  await create({ uploadId: uuid(2) })
  await rejectsWith(t, create({ uploadId: uuid(3) }), 'TOO_MANY_UPLOADS', { data: { maxOpenUploads: 2 } })
  await create({ uploadId: uuid(4), keyId: 'another' })
  t.same((await state.uploads.ids()).sort(), [uuid(1), uuid(2), uuid(4)])
})

t.test('uploads: open ones count with all that they announced and have not sent', async (t) => {
  const { create, uploads, space, state } = await setUp(t)
  await create({ uploadId: uuid(1), sizeBytes: 5000 })
  const second = await create({ uploadId: uuid(2), sizeBytes: 7000 })
  t.equal(await state.uploads.missingBytes(), 12_000)
  await uploads.append(second, chunksOf(Buffer.alloc(4000), 700))
  t.equal(await state.uploads.missingBytes(), 8000)
  space.asked.length = 0
  await create({ uploadId: uuid(3), sizeBytes: 100, keyId: 'another' })
  t.same(space.asked, [8100])
})

t.test('uploads: findSame needs the key, the bytes and the facts', async (t) => {
  const { create, uploads } = await setUp(t)
  await create()
  const same = { keyId: 'key', sha256: SHA256, sizeBytes: 3000, facts: SUPPLIED }
  t.match(await uploads.findSame(same), { uploadId: uuid(1) })
  t.equal(await uploads.findSame({ ...same, keyId: 'another' }), undefined)
  t.equal(await uploads.findSame({ ...same, sha256: 'ab'.repeat(32) }), undefined)
  t.equal(await uploads.findSame({ ...same, facts: { ...SUPPLIED, kind: 'other' } }), undefined)
  t.match(await uploads.find(uuid(1)), { keyId: 'key' })
})

t.test('uploads: two calls at once register one model', async (t) => {
  const { create, append, uploads, state } = await setUp(t)
  await create()
  await append(BYTES)
  const [one, two] = await Promise.all([uploads.finish(uuid(1)), uploads.finish(uuid(1))])
  t.equal(one.modelId, two.modelId)
  t.match(await state.models.counts(), { models: 1 })
})

t.test('uploads: finishComplete registers complete ones, and reports those that it cannot', async (t) => {
  const { create, append, open, state } = await setUp(t)
  await create()
  await append(BYTES)
  const sha256 = 'ab'.repeat(32)
  await create({ uploadId: uuid(2), sha256, sizeBytes: 5 })
  await state.uploads.advance(uuid(2), 5) // its bytes are nowhere
  await create({ uploadId: uuid(3), keyId: 'another', sizeBytes: 9 })
  const faults: string[] = []
  const restarted = open()
  t.equal(await restarted.finishComplete((id) => void faults.push(id)), 1)
  t.same(faults, [uuid(2)])
  t.match(await state.models.counts(), { models: 1 })
  t.match(await restarted.finish(uuid(1)), { sha256: SHA256 })
  t.equal(await restarted.finishComplete(() => undefined), 0)
})

t.test('uploads: settle waits for what runs', async (t) => {
  const { create, uploads, rowOf } = await setUp(t)
  await create()
  const { promise: isOver, resolve: goOn } = Promise.withResolvers<void>()
  let isWaiting = false
  const slow = async function* () {
    yield BYTES.subarray(0, 100)
    isWaiting = true
    await isOver
    throw new Error('the link broke')
  }
  const appended = uploads.append(await rowOf(uuid(1)), slow())
  let isSettled = false
  const settled = uploads.settle().then(() => {
    isSettled = true
  })
  while (!isWaiting) await turn()
  await turn()
  t.equal(isSettled, false)
  goOn()
  await t.rejects(appended, /the link broke/)
  await settled
  await t.resolves(uploads.settle(), 'nothing runs')
})

t.test('uploads: removeIdle removes idle uploads, and parts without a row that nobody keeps', async (t) => {
  const { create, append, uploads, state, parts } = await setUp(t)
  await create()
  await append(BYTES.subarray(0, 10))
  state.advance(10_000)
  await create({ uploadId: uuid(2) })
  for (const id of [uuid(2), 'fetch-1', 'fetch-2']) writeFileSync(parts.pathOf(id), 'x')
  const active = (await state.uploads.find(uuid(2)))?.activeAtUs ?? 0
  t.equal(await uploads.removeIdle(active, (id) => id === 'fetch-1'), 1)
  t.same(await state.uploads.ids(), [uuid(2)])
  t.same((await parts.list()).sort(), [uuid(2), 'fetch-1'])
  t.equal(await uploads.removeIdle(active, () => true), 0)
})
