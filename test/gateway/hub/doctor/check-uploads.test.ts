import t from 'tap'
import { checkUploads } from '../../../../src/gateway/hub/doctor/check-uploads.js'
import type { UploadPieceRows } from '../../../../src/storage/postgres/models/upload-pieces.js'

const piece = (uploadId: string) => ({ uploadId, startBytes: 0, sizeBytes: 5, sha256: 'ab'.repeat(32) })

/** @param lists what each look at the rows finds; the objects of no upload are there */
const examine = async (...lists: string[][]) => {
  const rows = { listAll: async () => (lists.shift() ?? []).map(piece) } as Pick<UploadPieceRows, 'listAll'>
  const pieces = { folder: () => ({ open: async () => undefined, stat: async () => undefined }) }
  const findings = await checkUploads({ pieces, rows, readsBytes: false, onProgress: () => undefined })
  return findings.map(({ state, message }) => `${state}: ${message}`)
}

t.test('checkUploads: an upload that lacks bytes is named, one that ended meanwhile is not', async (t) => {
  const [lost, ...others] = await examine(['lost', 'ended'], ['lost'])
  t.match(lost, /^warning: upload lost, piece /)
  t.same(others, [])
  t.same(await examine(['ended'], []), ['ok: 1 uploads on their way have their pieces'])
})
