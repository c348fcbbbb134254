import { randomBytes } from 'node:crypto'
import t from 'tap'
import { findModelFile } from '../../src/models/download.js'
import { attemptParts } from '../support/attempts.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(1000)

t.test('download: digest, size and ranges of a model', async (t) => {
  const { deps, state, put } = await attemptParts(t)
  const model = await put(BYTES)
  const file = await findModelFile(state.models, deps.blobs, model.modelId)
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
    await rejectsWith(t, findModelFile(state.models, deps.blobs, id), 'UNKNOWN_MODEL', {
      data: { model_id: id },
    })
  const long = 'x'.repeat(300)
  await rejectsWith(t, findModelFile(state.models, deps.blobs, long), 'UNKNOWN_MODEL', {
    message: /^No model has the id x{100}$/,
    data: { model_id: 'x'.repeat(100) },
  })
})

t.test(
  'download: MODEL_DAMAGED for a marked model, and for bytes that are missing when they are read',
  async (t) => {
    const { deps, state, put } = await attemptParts(t)
    const { modelId, sha256 } = await put(BYTES)
    const file = await findModelFile(state.models, deps.blobs, modelId)
    await deps.blobs.remove(sha256)
    await rejectsWith(t, file.open({ start: 0, end: 1 }), 'MODEL_DAMAGED', { data: { model_id: modelId } })
    await state.models.setDamaged(sha256, true)
    await rejectsWith(t, findModelFile(state.models, deps.blobs, modelId), 'MODEL_DAMAGED', {
      data: { model_id: modelId },
    })
  },
)
