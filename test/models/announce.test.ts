import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { announceUpload } from '../../src/models/announce.js'
import type { RegisterDeps } from '../../src/models/register-model.js'
import { createUploads, type NewUpload } from '../../src/models/uploads.js'
import { attemptParts, FACTS, uuid } from '../support/attempts.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(3000)
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
const ORIGIN = { node: 'elsewhere', modelId: 'theirs' }
const { startUs: _, ...SUPPLIED } = FACTS

type Tail<F extends (first: never, ...rest: never[]) => unknown> = F extends (
  first: never,
  ...rest: infer R
) => unknown
  ? R
  : never

async function setUp(t: Test, change: Partial<RegisterDeps> = {}) {
  const at = await attemptParts(t)
  const register = { ...at.deps.register, ...change }
  const { parts, requireSpace } = at.deps
  const uploads = createUploads({
    ...register,
    ...at.rebuild,
    uploads: at.state.uploads,
    parts,
    maxOpenPerKey: 2,
    requireSpace,
  })
  let ids = 0
  const announceBy = (
    change: { takesDeltas: boolean },
    upload: Partial<NewUpload> = {},
    facts: Partial<typeof SUPPLIED> = {},
    bases?: string[],
  ) =>
    announceUpload(
      { register, uploads, maxModelBytes: 3000, ...change },
      {
        uploadId: uuid(++ids),
        keyId: 'key',
        sha256: SHA256,
        sizeBytes: 3000,
        facts: { ...SUPPLIED, origin: ORIGIN, ...facts },
        ...upload,
      },
      bases,
    )
  const announce = (...args: Tail<typeof announceBy>) => announceBy({ takesDeltas: true }, ...args)
  const counts = async () => ({
    models: (await at.state.models.counts()).models,
    uploads: (await at.state.uploads.ids()).length,
  })
  return { ...at, register, uploads, announce, announceBy, counts }
}

t.test('announce: unknown bytes get an upload, the same announcement the same one', async (t) => {
  const { announce, counts } = await setUp(t)
  const upload = { uploadId: uuid(1), keyId: 'key', sha256: SHA256, sizeBytes: 3000, offsetBytes: 0 }
  t.match(await announce(), { upload })
  t.match(await announce(), { upload })
  t.match(await announce({ keyId: 'another' }), { upload: { uploadId: uuid(3) } })
  t.match(await announce({}, { description: 'another' }), { upload: { uploadId: uuid(4) } })
  t.same(await counts(), { models: 0, uploads: 3 })
})

t.test('announce: TOO_MANY_UPLOADS at the limit of a key, but its uploads continue', async (t) => {
  const { announce } = await setUp(t)
  await announce()
  await announce({}, { kind: 'b' })
  const refusal = { data: { maxOpenUploads: 2, retryAfterS: 60 } }
  await rejectsWith(t, announce({}, { kind: 'c' }), 'TOO_MANY_UPLOADS', refusal)
  t.match(await announce({}, { kind: 'b' }), { upload: { uploadId: uuid(2) } })
})

t.test('announce: bytes that another model has are registered without an upload', async (t) => {
  const { announce, put, counts, deps } = await setUp(t)
  const other = await put(BYTES)
  const answer = await announce({}, { state: 20, kind: 'second', hopCount: 1 })
  if (!('model' in answer)) return t.fail('an upload was made')
  t.not(answer.model.modelId, other.modelId)
  t.match(answer.model, {
    sha256: SHA256,
    md5: other.md5,
    sizeBytes: 3000,
    kind: 'second',
    state: 20,
    originNode: 'elsewhere',
    originModelId: 'theirs',
  })
  t.ok(answer.model.startUs > 1, 'the time of the announcement')
  t.same(await counts(), { models: 2, uploads: 0 })
  t.ok(await deps.blobs.stat(SHA256))
})

t.test('announce: an origin that was registered before answers its model, whatever the bytes', async (t) => {
  const { announce, put, counts } = await setUp(t)
  const first = await put(randomBytes(10), { origin: ORIGIN, state: 20 })
  for (const store of ['rain', first.storeLongForm])
    t.match(await announce({}, { store }), { model: { modelId: first.modelId } })
  t.match(await announce({}, { origin: { ...ORIGIN, modelId: 'other' } }), { upload: {} })
  t.match(await announce({}, { origin: null, kind: 'no origin' }), { upload: {} })
  t.same(await counts(), { models: 1, uploads: 2 })
})

t.test('announce: bytes that are damaged, missing or of another size are asked for', async (t) => {
  const damaged = await setUp(t)
  await damaged.put(BYTES)
  await damaged.state.models.setDamaged(SHA256, true)
  t.match(await damaged.announce(), { upload: {} })
  const missing = await setUp(t)
  await missing.put(BYTES)
  await missing.deps.blobs.remove(SHA256)
  t.match(await missing.announce(), { upload: {} })
  const shorter = await setUp(t)
  await shorter.put(BYTES)
  t.match(await shorter.announce({ sizeBytes: 2999 }), { upload: { sizeBytes: 2999 } })
  const truncated = await setUp(t)
  await truncated.put(BYTES)
  truncated.register.blobs = { ...truncated.register.blobs, stat: async () => ({ sizeBytes: 2999 }) }
  t.match(await truncated.announce(), { upload: {} })
})

t.test('announce: an error when the bytes are removed while they are registered', async (t) => {
  const { announce, put, register, counts } = await setUp(t)
  await put(BYTES)
  let stats = 0
  const { stat } = register.blobs
  register.blobs = {
    ...register.blobs,
    stat: async (sha256) => (stats++ === 0 ? await stat(sha256) : undefined),
  }
  await t.rejects(announce(), /the announced bytes were removed meanwhile/)
  t.same(await counts(), { models: 1, uploads: 0 }, 'the sender announces them again')
})

t.test('announce: LOOP, BODY_TOO_LARGE and UNKNOWN_STORE change nothing', async (t) => {
  const { announce, put, counts } = await setUp(t, { autoCreate: false })
  await put(BYTES)
  await rejectsWith(t, announce({}, { chain: ['a', 'here'] }), 'LOOP')
  await rejectsWith(t, announce({}, { origin: { node: 'here', modelId: 'm' } }), 'LOOP')
  await rejectsWith(t, announce({ sizeBytes: 3001 }), 'BODY_TOO_LARGE', {
    message: /^Found 3001 bytes, expected at most 3000 \(limits\.modelBytes\)$/,
    data: { maxBytes: 3000 },
  })
  await rejectsWith(t, announce({}, { store: 'snow' }), 'UNKNOWN_STORE', {
    data: { model_store_ddc: 'snow' },
  })
  t.same(await counts(), { models: 1, uploads: 0 })
  const { announce: creating } = await setUp(t)
  t.match(
    await creating({}, { store: 'snow' }),
    { upload: {} },
    'an unknown store is made by the registration',
  )
})

t.test('announce: a complete upload without a model becomes one', async (t) => {
  const { announce, deps, state, uploads, counts } = await setUp(t)
  await announce()
  const upload = await uploads.find(uuid(1))
  if (upload === undefined) return t.fail('the upload is missing')
  await uploads.append(upload, chunksOf(BYTES, 700))
  t.match(await announce(), { model: { sha256: SHA256, sizeBytes: 3000 } })
  t.ok(await deps.blobs.stat(SHA256))
  t.same([(await counts()).models, (await state.uploads.find(uuid(1)))?.modelId === null], [1, false])
})

t.test(
  'announce: the first base that is stored, and then an upload of the delta or of the model',
  async (t) => {
    const { announce, put, register, deps } = await setUp(t)
    const [one, two] = [(await put(randomBytes(100))).sha256, (await put(randomBytes(100))).sha256]
    const unknown = 'f'.repeat(64)
    t.same(await announce({}, {}, [unknown, two, one]), { base: two })
    t.match(await announce({}, {}, [unknown]), { upload: { sizeBytes: 3000 } })
    t.same(await announce({}, {}, [one]), { base: one }, 'an upload that has not begun is not in the way')
    const delta = { base: one, sha256: 'd'.repeat(64), sizeBytes: 2000 }
    const answer = await announce({ delta })
    t.match(answer, { base: one, upload: { sizeBytes: 2000, sha256: SHA256 } })
    t.same(await announce({ delta }), answer, 'the same upload goes on')
    const whole = await announce({ delta: { ...delta, sizeBytes: 3000 } })
    t.match(whole, { base: undefined, upload: { sizeBytes: 3000 } }, 'no delta of the size of the model')
    await deps.blobs.remove(one)
    t.match(await announce({ delta }), { base: undefined, upload: { sizeBytes: 3000 } })
    await register.models.setDamaged(two, true)
    t.match(await announce({}, {}, [two, one]), { upload: { sizeBytes: 3000 } })
  },
)

t.test('announce: no base where deltas are off, or an upload of the model has begun', async (t) => {
  const { announce, announceBy, put, uploads } = await setUp(t)
  const { sha256: base } = await put(randomBytes(100))
  const delta = { base, sha256: 'd'.repeat(64), sizeBytes: 2000 }
  t.match(await announceBy({ takesDeltas: false }, {}, {}, [base]), { upload: { sizeBytes: 3000 } })
  t.match(await announceBy({ takesDeltas: false }, { delta }), {
    base: undefined,
    upload: { sizeBytes: 3000 },
  })
  const upload = await uploads.find(uuid(1))
  if (upload === undefined) return t.fail('the upload is missing')
  await uploads.append(upload, chunksOf(BYTES.subarray(0, 10), 700))
  t.match(await announce({}, {}, [base]), { upload: { offsetBytes: 10 } })
})
