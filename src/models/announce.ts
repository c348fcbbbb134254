import type { StagedBlob } from '../files/blob-store.js'
import type { ModelRecord } from '../storage/models.js'
import type { UploadRecord } from '../storage/uploads.js'
import { type RegisterDeps, registerModel, unknownStore } from './register-model.js'
import type { NewUpload, Uploads } from './uploads.js'

/**
 * Answers bytes that were announced: the model when its origin was registered before, or when the bytes are here
 * under another model's name; else the upload where to send them, one that was begun before if there is one.
 *
 * @throws AppError UNKNOWN_STORE, TOO_MANY_UPLOADS, DISK_FULL
 */
export async function announceUpload(
  deps: RegisterDeps,
  uploads: Uploads,
  upload: NewUpload,
): Promise<{ model: ModelRecord } | { upload: UploadRecord }> {
  const { facts } = upload
  const store = await deps.stores.find(facts.store)
  if (store === undefined && !deps.autoCreate) throw unknownStore(facts.store)
  if (store !== undefined && facts.origin !== null) {
    const first = await deps.models.findByOrigin(facts.origin.node, facts.origin.modelId, store.storeId)
    if (first !== undefined) return { model: first }
  }
  const staged = await stageKnown(deps, upload)
  if (staged !== undefined) {
    const startUs = deps.clock.nowUs()
    return { model: await registerModel(deps, staged, { ...facts, startUs }) }
  }
  return { upload: (await uploads.findSame(upload)) ?? (await uploads.create(upload)) }
}

/** Bytes that another model brought, undefined when they are not here or not what they should be. */
async function stageKnown(
  { models, blobs }: RegisterDeps,
  { sha256, sizeBytes }: NewUpload,
): Promise<StagedBlob | undefined> {
  const alike = await models.findByDigest(sha256)
  if (alike === undefined || alike.sizeBytes !== sizeBytes) return undefined
  const found = await blobs.stat(sha256)
  if (found?.sizeBytes !== sizeBytes) return undefined
  return {
    sha256,
    md5: alike.md5,
    sizeBytes,
    async keep() {
      // pinned by now: if the sweep took the bytes just before, the sender is asked again
      if ((await blobs.stat(sha256)) === undefined) throw new Error('bytes that were just here are gone')
    },
    drop: async () => undefined,
  }
}
