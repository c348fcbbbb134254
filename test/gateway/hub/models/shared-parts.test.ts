import { existsSync, statSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createPartFiles } from '../../../../src/files/part-files.js'
import type { UploadPieces } from '../../../../src/files/s3/upload-pieces.js'
import { sharedParts } from '../../../../src/gateway/hub/models/shared-parts.js'
import { sweepPieces } from '../../../../src/gateway/hub/models/sweep-pieces.js'
import type { UploadRecord, UploadRows } from '../../../../src/storage/models/uploads.js'
import type { UploadPieceRows } from '../../../../src/storage/postgres/models/upload-pieces.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const NOW_MS = 1_800_000_000_000
const DAY_MS = 86_400_000

/** Files of a process whose object store is away. */
function setUp(t: Test, known: Record<string, Partial<UploadRecord>>) {
  const parts = createPartFiles(t.testdir())
  const warned: string[] = []
  const removed: string[] = []
  const uploads = {
    find: async (id: string) => known[id] as UploadRecord | undefined,
    remove: async (id: string) => void removed.push(id),
  } as UploadRows
  const pieces = {
    async remove() {
      throw new Error('the store is away')
    },
  } as unknown as UploadPieces
  const rows = {
    list: async () => [{ startBytes: 0, sizeBytes: 1, sha256: 'x' }],
    clear: async () => true,
  } as unknown as UploadPieceRows
  const log = { warn: ((_fields: unknown, message: string) => warned.push(message)) as never }
  const write = async (id: string) => {
    const writer = await parts.openAt(id, 0)
    await writer?.write([Buffer.from('bytes')])
    await writer?.close()
  }
  return { ...sharedParts({ parts, uploads, pieces, rows, log }), local: parts, warned, removed, write }
}

t.test('shared parts: an upload ends while the object store is away', async (t) => {
  const { parts, uploads, local, warned, removed, write } = setUp(t, {})
  await write('a')
  await parts.remove('a')
  t.equal(existsSync(local.pathOf('a')), false)
  await uploads.remove('a')
  t.same(removed, ['a'])
  t.same(warned, Array(2).fill('pieces of an upload stay in the object store until a sweep'))
})

t.test('shared parts: files of uploads that ended elsewhere go, others stay', async (t) => {
  const { tidy, local, write } = setUp(t, { open: { modelId: null }, ended: { modelId: 'model' } })
  for (const id of ['open', 'ended', 'gone']) await write(id)
  await tidy()
  t.same(await local.list(), ['open'])
})

t.test('shared parts: all bytes but the last become pieces', async (t) => {
  const put: string[] = []
  const local = createPartFiles(t.testdir())
  const found = { sizeBytes: 100, offsetBytes: 0, modelId: null } as UploadRecord
  const uploads = { find: async () => found } as unknown as UploadRows
  const pieces = {
    put: async (_id: string, _file: string, { start, end }: { start: number; end: number }) => {
      put.push(`${start} to ${end}`)
      return 'digest'
    },
  } as unknown as UploadPieces
  const rows = { add: async () => undefined, clear: async () => false } as unknown as UploadPieceRows
  const log = { warn: () => undefined }
  const shared = sharedParts({ parts: local, uploads, pieces, rows, log })
  const writer = await shared.parts.openAt('a', 0)
  await writer?.write([Buffer.alloc(100)])
  for (const offset of [30, 70, 100]) await shared.uploads.advance('a', offset)
  await writer?.close()
  t.same(put, ['0 to 30', '30 to 70'], 'the model is put whole')
  await t.rejects(shared.uploads.advance('b', 10), /is not open here/)
})

t.test('shared parts: an upload that another process went on with, or ended, is not written', async (t) => {
  const { parts, local, write } = setUp(t, {
    ahead: { offsetBytes: 9, modelId: null },
    ended: { offsetBytes: 5, modelId: 'model' },
    own: { offsetBytes: 5, modelId: null },
  })
  for (const id of ['ahead', 'ended', 'own']) await write(id)
  for (const id of ['ahead', 'ended']) await rejectsWith(t, parts.openAt(id, 5), 'UNAVAILABLE')
  await (await parts.openAt('own', 5))?.close()
  for (const id of ['ahead', 'ended', 'own']) t.equal(statSync(local.pathOf(id)).size, 5, id)
})

t.test('sweep of pieces: those of uploads that ended a day ago', async (t) => {
  const removed: string[] = []
  const at = { 'old unknown': 2, 'old open': 2, 'old ended': 2, 'young unknown': 0.5, 'young ended': 0.5 }
  const pieces: UploadPieces = {
    async *list() {
      yield* Object.keys(at)
    },
    lastPutMs: async (uploadId) => NOW_MS - at[uploadId as keyof typeof at] * DAY_MS,
    remove: async (uploadId) => void removed.push(uploadId),
    put: async () => 'never',
    folder: () => ({ open: async () => undefined, stat: async () => undefined }),
  }
  const find = async (id: string) =>
    (id.endsWith('unknown') ? undefined : { modelId: id.endsWith('ended') ? 'model' : null }) as
      | UploadRecord
      | undefined
  t.equal(await sweepPieces(pieces, { find }, NOW_MS), 2)
  t.same(removed, ['old unknown', 'old ended'])
})
