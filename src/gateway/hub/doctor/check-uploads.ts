import { type Finding, ok, warning } from '../../../doctor/finding.js'
import type { UploadPieces } from '../../../files/s3/upload-pieces.js'
import type { UploadPieceRows } from '../../../storage/postgres/models/upload-pieces.js'
import { type CompareOptions, faultOf } from './compare-kind.js'

interface UploadCheck extends Pick<CompareOptions, 'readsBytes' | 'onProgress'> {
  readonly pieces: Pick<UploadPieces, 'folder'>
  readonly rows: Pick<UploadPieceRows, 'listAll'>
}

/** Compares the pieces of uploads on their way with the rows that name them. One fault of an upload is named. */
export async function checkUploads({
  pieces,
  rows,
  readsBytes,
  onProgress,
}: UploadCheck): Promise<Finding[]> {
  const faults = new Map<string, string>()
  const uploads = new Set<string>()
  for (const { uploadId, ...piece } of await rows.listAll()) {
    if (faults.has(uploadId)) continue
    uploads.add(uploadId)
    onProgress(`upload ${uploads.size}`)
    const fault = await faultOf(pieces.folder(uploadId), piece, readsBytes)
    if (fault !== undefined) faults.set(uploadId, fault)
  }
  // the pieces of an upload that has ended meanwhile are gone
  const left = new Set(faults.size > 0 ? (await rows.listAll()).map(({ uploadId }) => uploadId) : [])
  for (const uploadId of faults.keys()) if (!left.has(uploadId)) faults.delete(uploadId)
  if (faults.size === 0) return [ok(`${uploads.size} uploads on their way have their pieces`)]
  const advice = 'nothing: its sender is told to begin again. Many are a sign that the bucket lost objects'
  return [...faults].map(([uploadId, fault]) => warning(`upload ${uploadId}, piece ${fault}`, advice))
}
