import type { UploadPieces } from '../../../files/s3/upload-pieces.js'
import type { UploadRows } from '../../../storage/models/uploads.js'

/** Age from which on pieces of an unknown upload may go, ms: clocks differ, and a row is made before its first piece. */
const SAFE_AGE_MS = 86_400_000

/**
 * Removes the pieces of uploads that have ended: the object store was away when they did, or a process ended in between.
 * Ids are never used again, so nothing is put there any more.
 *
 * @returns number of uploads whose pieces were removed
 */
export async function sweepPieces(
  pieces: UploadPieces,
  uploads: Pick<UploadRows, 'find'>,
  nowMs: number,
): Promise<number> {
  let removed = 0
  for await (const uploadId of pieces.list()) {
    const upload = await uploads.find(uploadId)
    // the rows are asked first: mostly uploads go on, and each look at a folder is a request to the store
    if (upload !== undefined && upload.modelId === null) continue
    if ((await pieces.lastPutMs(uploadId)) > nowMs - SAFE_AGE_MS) continue
    await pieces.remove(uploadId)
    removed++
  }
  return removed
}
