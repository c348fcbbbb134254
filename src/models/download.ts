import { AppError } from '../errors.js'
import type { BlobStore, ByteRange } from '../files/blob-store.js'
import { comparedBytes } from '../files/compared-bytes.js'
import type { ModelRows } from '../storage/models/models.js'
import { unknownModel, unsigned } from './faults.js'

/** Bytes of a model, opened on demand. */
interface ModelFile {
  /** hex */
  sha256: string
  sizeBytes: number
  /** Opens a half-open range. @throws AppError MODEL_DAMAGED if the bytes are missing */
  open(range: ByteRange): Promise<AsyncIterableIterator<Uint8Array>>
}

/** Called when the bytes of a model are not what they were; moves them away and marks the models. */
export type ReportDamage = (sha256: string, reason: string) => Promise<void>

/**
 * Finds the file of a model. A reading of the whole file compares its digest while the bytes pass, and fails
 * before the last of them when it differs. A range is not compared: the receiver has the digest of the whole.
 *
 * @throws AppError UNKNOWN_MODEL, MODEL_DAMAGED
 */
export async function findModelFile(
  models: Pick<ModelRows, 'find'>,
  blobs: Pick<BlobStore, 'open'>,
  modelId: string,
  report: ReportDamage,
): Promise<ModelFile> {
  const model = await models.find(modelId)
  if (model === undefined) throw unknownModel(modelId)
  const damaged = (cause?: Error) => new AppError('MODEL_DAMAGED', { model_id: modelId }, { cause })
  const fail = async (reason: string) => {
    await report(model.sha256, reason)
    return damaged(new Error(`${model.sha256}: ${reason}`))
  }
  if (model.isDamaged) throw damaged()
  return {
    sha256: model.sha256,
    sizeBytes: model.sizeBytes,
    async open(range) {
      const bytes = await blobs.open(model.sha256, range)
      if (bytes === undefined) throw await fail('found no bytes')
      const isWhole = range.start === 0 && range.end === model.sizeBytes
      return isWhole ? comparedBytes(bytes, model.sha256, fail) : bytes
    },
  }
}

/**
 * Finds the signature bundle of a model, as it was supplied.
 *
 * @throws AppError UNKNOWN_MODEL, NOT_FOUND for an unsigned model
 */
export async function findSignature(
  models: Pick<ModelRows, 'find' | 'signatureOf'>,
  modelId: string,
): Promise<string> {
  if ((await models.find(modelId)) === undefined) throw unknownModel(modelId)
  const bundle = await models.signatureOf(modelId)
  if (bundle === undefined) throw unsigned(modelId)
  return bundle
}
