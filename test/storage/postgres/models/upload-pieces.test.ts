import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { createUploadPieceRows } from '../../../../src/storage/postgres/models/upload-pieces.js'
import { model } from '../../../support/model-rows-conformance.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const digest = (text: string) => createHash('sha256').update(text).digest('hex')
const piece = (startBytes: number, sizeBytes: number) => ({
  ...{ startBytes, sizeBytes },
  sha256: digest(`${startBytes} ${sizeBytes}`),
})

t.test('pieces of uploads', { skip: noPostgres() }, async (t) => {
  const open = await postgresStates(t)
  const setUp = async (by = open) => {
    const state = await by(t)
    const rows = createUploadPieceRows(state.db, state.clock)
    const uploadId = randomUUID()
    const upload = { uploadId, keyId: 'key', sha256: digest('all'), sizeBytes: 100, params: '{}' }
    await state.uploads.create(upload)
    return { state, rows, uploadId }
  }

  await t.test('a piece is recorded behind the last one alone, with the offset', async (t) => {
    const { state, rows, uploadId } = await setUp()
    await rows.add(uploadId, piece(0, 30))
    state.advance(1000)
    await rows.add(uploadId, piece(30, 20))
    const upload = await state.uploads.find(uploadId)
    t.equal(upload?.offsetBytes, 50)
    t.ok((upload?.activeAtUs ?? 0) >= (upload?.createdAtUs ?? 0) + 1_000_000, 'it is in use')
    for (const stale of [piece(0, 30), piece(30, 20), piece(40, 20), piece(60, 10)])
      await rejectsWith(t, rows.add(uploadId, stale), 'UNAVAILABLE')
    t.same(await rows.list(uploadId), [piece(0, 30), piece(30, 20)])
    t.same(
      (await rows.listAll()).filter((one) => one.uploadId === uploadId),
      [piece(0, 30), piece(30, 20)].map((one) => ({ uploadId, ...one })),
    )
    await rejectsWith(t, rows.add(randomUUID(), piece(0, 1)), 'UNAVAILABLE')
  })

  await t.test('two processes register one upload: it becomes one model, and stays complete', async (t) => {
    const { state, rows, uploadId } = await setUp()
    await rows.add(uploadId, piece(0, 30))
    const register = async () => {
      const added = await state.models.add(model(), { autoCreate: true, push: false, uploadId })
      return added?.model.modelId ?? ''
    }
    const [first, second] = await Promise.all([register(), register()])
    t.equal(first, second)
    t.match(await state.models.counts(), { models: 1 })
    t.match(await state.uploads.find(uploadId), { modelId: first, offsetBytes: 100 })
    await state.uploads.advance(uploadId, 0)
    t.match(await state.uploads.find(uploadId), { offsetBytes: 100 }, 'a process that finds no bytes')
    t.notOk(
      (await rows.listAll()).some((one) => one.uploadId === uploadId),
      'what is left of it is on no way',
    )
  })

  await t.test('an upload that starts again, or ends, has no pieces', async (t) => {
    const { state, rows, uploadId } = await setUp()
    await rows.add(uploadId, piece(0, 30))
    t.equal(await rows.clear(uploadId), true)
    t.equal(await rows.clear(uploadId), false)
    await state.uploads.advance(uploadId, 0)
    await rows.add(uploadId, piece(0, 10))
    await state.uploads.remove(uploadId)
    t.same(await rows.list(uploadId), [])
  })

  await t.test('an answer that was lost: the piece is there once', async (t) => {
    let commits = 0
    let isCutting = false
    const cutting = await postgresStates(t, () => isCutting && ++commits === 1)
    const { state, rows, uploadId } = await setUp(cutting)
    isCutting = true
    await rows.add(uploadId, piece(0, 30))
    t.ok(commits >= 1, 'it was cut')
    t.same(await rows.list(uploadId), [piece(0, 30)])
    t.equal((await state.uploads.find(uploadId))?.offsetBytes, 30)
  })
})
