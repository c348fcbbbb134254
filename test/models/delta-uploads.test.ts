import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import type { RebuildDeps } from '../../src/models/rebuild.js'
import { createSignaturePolicy } from '../../src/models/signature/policy.js'
import { attemptParts, NO_DEMAND, SUPPLIED, uuid } from '../support/attempts.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { deltaOf, digested } from '../support/deltas.js'
import { rejectsWith } from '../support/rejects-with.js'

const BASE = randomBytes(20_000)
const NEXT = Buffer.from(BASE)
NEXT.set(randomBytes(50), 7000)
const { sha256 } = digested(NEXT)

/** An upload of a delta whose bytes are all here. */
async function setUp(t: Test, change: Partial<RebuildDeps> = {}) {
  const at = await attemptParts(t)
  const { parts } = at.deps
  const asked: number[] = []
  const requireSpace = async (bytes: number) => void asked.push(bytes)
  const open = (more: object = {}) => at.openUploads({ requireSpace, ...change, ...more })
  const { sha256: base } = await at.put(BASE)
  const delta = await deltaOf(BASE, NEXT)
  const uploads = open()
  const send = async (bytes: Buffer = delta) => {
    const upload = await uploads.create({
      uploadId: uuid(1),
      keyId: 'key',
      sha256,
      sizeBytes: NEXT.length,
      facts: SUPPLIED,
      delta: { base, sha256: digested(bytes).sha256, sizeBytes: bytes.length },
    })
    await uploads.append(upload, chunksOf(bytes, 70))
  }
  /** models besides the base, uploads, parts and temporary files */
  const left = async () => [
    (await at.state.models.counts()).models - 1,
    (await at.state.uploads.ids()).length,
    (await parts.list()).length,
    readdirSync(at.rebuild.tempDir).length,
  ]
  return { ...at, open, uploads, send, delta, base, asked, left }
}

t.test('delta uploads: become the model, and register it once', async (t) => {
  const { uploads, send, asked, delta, left, deps } = await setUp(t)
  await send()
  t.equal(asked[0], NEXT.length + delta.length, 'space for the delta and for the model')
  const model = await uploads.finish(uuid(1))
  t.match(model, { sha256, sizeBytes: NEXT.length, kind: 'kind', round: 3 })
  t.equal((await uploads.finish(uuid(1))).modelId, model.modelId)
  t.same(await left(), [1, 1, 0, 0])
  const bytes = Buffer.concat(await Array.fromAsync((await deps.blobs.open(sha256)) ?? []))
  t.ok(bytes.equals(NEXT))
})

t.test('delta uploads: BAD_DELTA removes the upload, and registers nothing', async (t) => {
  const flipped = await setUp(t)
  const bytes = Buffer.from(flipped.delta)
  bytes[130] = (bytes[130] ?? 0) ^ 4
  await flipped.send(bytes)
  await rejectsWith(t, flipped.uploads.finish(uuid(1)), 'BAD_DELTA')
  t.same(await flipped.left(), [0, 0, 0, 0])
  const gone = await setUp(t)
  await gone.send()
  rmSync((await gone.deps.blobs.localFile(gone.base)) ?? '')
  await rejectsWith(t, gone.uploads.finish(uuid(1)), 'BAD_DELTA', { message: /no bytes of the base/ })
  t.same(await gone.left(), [0, 0, 0, 0])
})

t.test('delta uploads: a full disk keeps the delta, which is applied later', async (t) => {
  const space = { isFull: false }
  const { uploads, send, left } = await setUp(t, {
    async requireSpace() {
      if (space.isFull) throw new AppError('DISK_FULL')
    },
  })
  await send()
  space.isFull = true
  await rejectsWith(t, uploads.finish(uuid(1)), 'DISK_FULL')
  t.same(await left(), [0, 1, 1, 0])
  space.isFull = false
  t.match(await uploads.finish(uuid(1)), { sha256 })
  t.same(await left(), [1, 1, 0, 0])
})

t.test('delta uploads: a shutdown in the rebuild; the next process completes it', async (t) => {
  const begun = Promise.withResolvers<void>()
  const { rebuild, open, send, left } = await setUp(t)
  const apply: RebuildDeps['work']['apply'] = (_, signal) => {
    begun.resolve()
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const stopping = open({ work: { ...rebuild.work, apply } })
  await send()
  const finishing = rejectsWith(t, stopping.finish(uuid(1)), 'CANCELLED')
  await begun.promise
  await stopping.settle()
  await finishing
  t.same(await left(), [0, 1, 1, 0])
  const faults: unknown[] = []
  t.equal(await open().finishComplete((_, error) => faults.push(error)), 1)
  t.same(faults, [])
  t.same(await left(), [1, 1, 0, 0])
})

t.test('delta uploads: SIGNATURE_REFUSED before the rebuild, for the digest of the model', async (t) => {
  const { open, send, left } = await setUp(t)
  await send()
  const signatures = createSignaturePolicy({ ...NO_DEMAND, requireSignature: true }, new Map())
  await rejectsWith(t, open({ signatures }).finish(uuid(1)), 'SIGNATURE_REFUSED')
  t.same(await left(), [0, 0, 0, 0])
})
