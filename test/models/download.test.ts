import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findModelFile } from '../../src/models/download.js'
import { attemptParts } from '../support/attempts.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(1000)
const report = async () => undefined

t.test('download: digest, size and ranges of a model', async (t) => {
  const { deps, state, put } = await attemptParts(t)
  const model = await put(BYTES)
  const file = await findModelFile(state.models, deps.blobs, model.modelId, report)
  t.match(file, { sha256: model.sha256, sizeBytes: 1000 })
  for (const [start, end] of [
    [0, 1000],
    [10, 20],
    [999, 1000],
    [5, 5],
  ] as const) {
    const bytes = Buffer.concat(await Array.fromAsync(await file.open({ start, end })))
    t.ok(bytes.equals(BYTES.subarray(start, end)), `${start} to ${end}`)
  }
})

t.test('download: UNKNOWN_MODEL for no model and for a deleted one', async (t) => {
  const { deps, state, put } = await attemptParts(t)
  const { modelId } = await put(BYTES)
  await state.models.remove(modelId)
  for (const id of ['nobody', modelId])
    await rejectsWith(t, findModelFile(state.models, deps.blobs, id, report), 'UNKNOWN_MODEL', {
      data: { model_id: id },
    })
  const long = 'x'.repeat(300)
  await rejectsWith(t, findModelFile(state.models, deps.blobs, long, report), 'UNKNOWN_MODEL', {
    message: /^No model has the id x{100}$/,
    data: { model_id: 'x'.repeat(100) },
  })
})

t.test(
  'download: MODEL_DAMAGED for a marked model, and for bytes that are missing when they are read',
  async (t) => {
    const { deps, state, put } = await attemptParts(t)
    const { modelId, sha256 } = await put(BYTES)
    const file = await findModelFile(state.models, deps.blobs, modelId, report)
    await deps.blobs.remove(sha256)
    await rejectsWith(t, file.open({ start: 0, end: 1 }), 'MODEL_DAMAGED', { data: { model_id: modelId } })
    await state.models.setDamaged(sha256, true)
    await rejectsWith(t, findModelFile(state.models, deps.blobs, modelId, report), 'MODEL_DAMAGED', {
      data: { model_id: modelId },
    })
  },
)

t.test('download: changed bytes end before their last chunk, and are reported at once', async (t) => {
  const { deps, state, put } = await attemptParts(t)
  const whole = randomBytes(300_000)
  const { modelId, sha256 } = await put(whole)
  const changed = Buffer.from(whole)
  changed.writeUInt8(changed.readUInt8(5) ^ 1, 5)
  for (const bytes of [changed, whole.subarray(0, 200_000), Buffer.alloc(0)]) {
    const reports: [string, string][] = []
    const blobs = { open: async () => chunksOf(bytes, 65_536) }
    const file = await findModelFile(
      state.models,
      blobs,
      modelId,
      async (...found) => void reports.push(found),
    )
    let sent = 0
    const read = async () => {
      for await (const chunk of await file.open({ start: 0, end: whole.length })) sent += chunk.length
    }
    await rejectsWith(t, read(), 'MODEL_DAMAGED', { data: { model_id: modelId } })
    t.ok(sent < whole.length, `${sent} bytes were sent`)
    t.match(reports, [[sha256, /^found bytes of the SHA-256 [0-9a-f]{64}$/]])
  }
  const file = await findModelFile(state.models, deps.blobs, modelId, report)
  const read = Buffer.concat(await Array.fromAsync(await file.open({ start: 0, end: whole.length })))
  t.ok(read.equals(whole))
})
