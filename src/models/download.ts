import { AppError } from '../errors.js'
import type { BlobStore, ByteRange } from '../files/blob-store.js'
import type { ModelRows } from '../storage/models.js'
import { unknownModel } from './faults.js'

/** Bytes of a model, opened on demand. */
interface ModelFile {
  /** hex */
  sha256: string
  sizeBytes: number
  /** Opens a half-open range. @throws AppError MODEL_DAMAGED if the bytes are missing */
  open(range: ByteRange): Promise<AsyncIterableIterator<Uint8Array>>
}

/**
 * Finds the file of a model.
 *
 * @throws AppError UNKNOWN_MODEL, MODEL_DAMAGED
 */
export async function findModelFile(
  models: Pick<ModelRows, 'find'>,
  blobs: Pick<BlobStore, 'open'>,
  modelId: string,
): Promise<ModelFile> {
  const model = await models.find(modelId)
  if (model === undefined) throw unknownModel(modelId)
  const damaged = () => new AppError('MODEL_DAMAGED', { model_id: modelId })
  if (model.isDamaged) throw damaged()
  return {
    sha256: model.sha256,
    sizeBytes: model.sizeBytes,
    async open(range) {
      const bytes = await blobs.open(model.sha256, range)
      if (bytes === undefined) throw damaged()
      return bytes
    },
  }
}
