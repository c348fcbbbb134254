import { AppError } from '../errors.js'
import type { StagedBlob } from '../files/blob-store.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { UploadRecord } from '../storage/models/uploads.js'
import { unknownStore } from './faults.js'
import { type RegisterDeps, refuseLoop, registerModel } from './register-model.js'
import { requireSigned } from './require-signed.js'
import type { NewUpload, Uploads } from './uploads.js'

interface AnnounceDeps {
  register: RegisterDeps
  uploads: Uploads
  /** `limits.modelBytes` */
  maxModelBytes: number
  /** `sync.deltas` */
  takesDeltas: boolean
}

/** Answer to an announcement: the registered model, a base that is stored here, or an upload. */
type AnnounceAnswer = { model: ModelRecord } | { base: string } | { upload: UploadRecord; base?: string }

/**
 * Decides what happens to announced bytes, before they are sent. The model is returned if its origin was
 * registered before, and registered if another model has the same bytes. If one of the bases is stored here,
 * and no upload of the file has begun, the sender gets it, to make a delta. Otherwise it gets an upload to
 * continue or to begin: of the announced delta, or of the file if the base of the delta is not stored any more.
 *
 * @param bases digests of files that the sender has, the most alike first
 * @throws AppError UNKNOWN_STORE, LOOP, BODY_TOO_LARGE, SIGNATURE_REFUSED, TOO_MANY_UPLOADS, DISK_FULL
 */
export async function announceUpload(
  deps: AnnounceDeps,
  upload: NewUpload,
  bases: readonly string[] = [],
): Promise<AnnounceAnswer> {
  const { register, uploads, takesDeltas } = deps
  const known = await findKnown(deps, upload)
  if (known !== undefined) return { model: known }
  const { delta, ...whole } = upload
  const usesDelta =
    takesDeltas &&
    delta !== undefined &&
    delta.sizeBytes < whole.sizeBytes &&
    (await isStored(register, delta.base))
  const wanted: NewUpload = usesDelta ? upload : whole
  const same = await uploads.findSame(wanted)
  if (same !== undefined && same.offsetBytes === same.sizeBytes)
    return { model: await uploads.finish(same.uploadId) }
  if (takesDeltas && delta === undefined && (same?.offsetBytes ?? 0) === 0)
    for (const base of bases) if (await isStored(register, base)) return { base }
  return { upload: same ?? (await uploads.create(wanted)), ...(usesDelta ? { base: delta.base } : {}) }
}

/** Returns the model of the same origin; or registers one whose bytes another model has. */
async function findKnown(
  { register, maxModelBytes }: AnnounceDeps,
  upload: NewUpload,
): Promise<ModelRecord | undefined> {
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
    if (first !== undefined) return first
  }
  await requireSigned(register, facts, upload.sha256)
  const staged = await stageStored(register, upload)
  if (staged === undefined) return undefined
  const startUs = register.clock.nowUs()
  return await registerModel(register, staged, { ...facts, startUs })
}

/** Reports whether a file can be rebuilt from bytes that are stored here. */
async function isStored({ models, blobs }: RegisterDeps, sha256: string): Promise<boolean> {
  const model = await models.findByDigest(sha256)
  return model !== undefined && (await blobs.stat(sha256))?.sizeBytes === model.sizeBytes
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
