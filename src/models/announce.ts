import { AppError } from '../errors.js'
import type { StagedBlob } from '../files/blob-store.js'
import type { ModelRecord } from '../storage/models.js'
import type { UploadRecord } from '../storage/uploads.js'
import { unknownStore } from './faults.js'
import { type RegisterDeps, refuseLoop, registerModel } from './register-model.js'
import { requireSigned } from './require-signed.js'
import type { NewUpload, Uploads } from './uploads.js'

interface AnnounceDeps {
  register: RegisterDeps
  uploads: Uploads
  /** `limits.modelBytes` */
  maxModelBytes: number
}

/**
 * Decides what happens to announced bytes, before they are sent. The model is returned if its origin was
 * registered before, and registered if another model has the same bytes. Otherwise the sender gets an upload
 * to continue or to begin.
 *
 * @throws AppError UNKNOWN_STORE, LOOP, BODY_TOO_LARGE, SIGNATURE_REFUSED, TOO_MANY_UPLOADS, DISK_FULL
 */
export async function announceUpload(
  { register, uploads, maxModelBytes }: AnnounceDeps,
  upload: NewUpload,
): Promise<{ model: ModelRecord } | { upload: UploadRecord }> {
  const { facts, sizeBytes } = upload
  if (sizeBytes > maxModelBytes) {
    const message = `Found ${sizeBytes} bytes, expected at most ${maxModelBytes} (limits.modelBytes)`
    throw new AppError('BODY_TOO_LARGE', { maxBytes: maxModelBytes }, { message })
  }
  refuseLoop(register.nodeId, facts)
  const store = await register.stores.find(facts.store)
  if (store === undefined && !register.autoCreate) throw unknownStore(facts.store)
  if (store !== undefined && facts.origin !== null) {
    const { node, modelId } = facts.origin
    const first = await register.models.findByOrigin(node, modelId, store.storeId)
    if (first !== undefined) return { model: first }
  }
  await requireSigned(register, facts, upload.sha256)
  const staged = await stageStored(register, upload)
  if (staged !== undefined) {
    const startUs = register.clock.nowUs()
    return { model: await registerModel(register, staged, { ...facts, startUs }) }
  }
  const same = await uploads.findSame(upload)
  if (same?.offsetBytes === sizeBytes) return { model: await uploads.finish(same.uploadId) }
  return { upload: same ?? (await uploads.create(upload)) }
}

/** Stages bytes that another model has; undefined if they are missing or differ from the announcement. */
async function stageStored(
  { models, blobs }: RegisterDeps,
  { sha256, sizeBytes }: NewUpload,
): Promise<StagedBlob | undefined> {
  const other = await models.findByDigest(sha256)
  if (other === undefined || other.sizeBytes !== sizeBytes) return undefined
  const found = await blobs.stat(sha256)
  if (found?.sizeBytes !== sizeBytes) return undefined
  return {
    sha256,
    md5: other.md5,
    sizeBytes,
    async keep() {
      // the bytes are pinned here; if the sweep removed them just before, the sender has to announce them
      // again
      if ((await blobs.stat(sha256)) === undefined)
        throw new Error('the announced bytes were removed meanwhile')
    },
    drop: async () => undefined,
  }
}
