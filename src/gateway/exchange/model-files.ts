import type { z } from 'zod'
import type { AnnouncedModel, AnnounceResult } from '../../api/fl/index.js'
import { toModelInfo } from '../../api/model-store/model-info.js'
import type { UploadMethod } from '../../api/model-store/upload-methods.js'
import { isUploadName, UPLOAD_NAMES } from '../../api/model-store/upload-names.js'
import type { Caller } from '../../auth/caller.js'
import type { Config } from '../../config/config.js'
import { AppError } from '../../errors.js'
import type { StagedBlob } from '../../files/blob-store.js'
import { CHECKSUM_ALGORITHMS, type ResumableUploads, UPLOADS_PATH } from '../../http/model-files/tus.js'
import type { ModelUploads } from '../../http/model-files/upload.js'
import { announceUpload } from '../../models/announce.js'
import {
  type RegisterDeps,
  refuseLoop,
  registerModel,
  type SuppliedFacts,
} from '../../models/register-model.js'
import { requireSigned } from '../../models/require-signed.js'
import { MAX_BUNDLE_BYTES } from '../../models/signature/bundle.js'
import type { Uploads } from '../../models/uploads.js'
import type { UploadRecord } from '../../storage/models/uploads.js'
import type { TrustedClock } from '../../storage/work/clock.js'

/** Longest wait of a request for another one that holds the same upload. */
const LOCK_WAIT_MS = 3000

/** Parts of the model store that the routes of model files use. */
export interface ModelFileDeps {
  config: Config
  clock: TrustedClock
  timeZoneMin: number
  register: RegisterDeps
  uploads: Uploads
  newId(): string
  requireSpace(bytes: number): Promise<void>
}

/** Connects multipart uploads to the model store. */
export function modelUploads(deps: ModelFileDeps): ModelUploads<SuppliedFacts, StagedBlob> {
  const { register, timeZoneMin } = deps
  const { signatures } = register
  const { limits } = deps.config
  return {
    maxModelBytes: limits.modelBytes,
    maxDataBytes: limits.modelDataBytes,
    maxSignatureBytes: MAX_BUNDLE_BYTES,
    maxParts: limits.modelParts,
    nowUs: () => deps.clock.nowUs(),
    requireSpace: deps.requireSpace,
    methodNames: UPLOAD_NAMES,
    findMethod(name) {
      if (!isUploadName(name)) return undefined
      return {
        name,
        async readData(json) {
          const method = await findMethod(name)
          if (method === undefined) throw badMethod(name)
          const facts = method.readFacts(json)
          refuseLoop(register.nodeId, facts) // before the bytes are read
          return facts
        },
      }
    },
    stage: (source) => register.blobs.stage(source),
    drop: (staged) => staged.drop(),
    async register({ data, staged, signature }, caller, startUs) {
      try {
        refuseTwoSignatures(data, signature)
      } catch (error) {
        await staged.drop()
        throw error
      }
      const facts = { ...data, ...(signature === undefined ? {} : { signature }) }
      const model = await registerModel(register, staged, { ...facts, tenantId: caller.keyName, startUs })
      return toModelInfo(model, timeZoneMin, signatures)
    },
  }
}

/** Finds an upload method. Their shapes are loaded with the first upload. */
async function findMethod(name: string): Promise<UploadMethod | undefined> {
  const { findUploadMethod } = await import('../../api/model-store/upload-methods.js')
  return findUploadMethod(name)
}

/** @throws AppError BAD_UPLOAD where both the params and a part hold a signature */
function refuseTwoSignatures(data: SuppliedFacts, part: string | undefined): void {
  if (data.signature === undefined || part === undefined) return
  const message = 'Bad upload: found a part signature and data.model_signature, expected one of them'
  throw new AppError('BAD_UPLOAD', {}, { message })
}

/** Connects resumable uploads to the model store. */
export function resumableUploads(deps: ModelFileDeps): ResumableUploads<UploadRecord> {
  const { config, clock, register, uploads, timeZoneMin } = deps
  return {
    maxBytes: config.limits.modelBytes,
    expiryS: config.modelStore.uploadExpiryS,
    lockWaitMs: LOCK_WAIT_MS,
    isClockTrusted: () => clock.isTrusted(),
    find: (uploadId) => uploads.find(uploadId),
    async create({ uploadId, sizeBytes, metadata, caller }) {
      const { data, sha256, delta } = metadata
      const method = await findMethod(metadata.method)
      if (method === undefined) throw badMethod(metadata.method)
      const facts = { ...method.readFacts(data), tenantId: caller.keyName }
      refuseLoop(register.nodeId, facts)
      await requireSigned(register, facts, sha256) // before the bytes are sent
      const upload = { uploadId, keyId: caller.keyId, sha256, sizeBytes, facts }
      if (delta === undefined) return void (await uploads.create(upload))
      const { modelBytes, ...sent } = delta
      requireDeltas(config, sizeBytes, modelBytes)
      await uploads.create({ ...upload, sizeBytes: modelBytes, delta: { ...sent, sizeBytes } })
    },
    append: (upload, source, checksum) => uploads.append(upload, source, checksum),
    async finish(uploadId) {
      const model = await uploads.finish(uploadId)
      return { modelId: model.modelId, info: toModelInfo(model, timeZoneMin, register.signatures) }
    },
    remove: (uploadId) => uploads.remove(uploadId),
  }
}

/** @throws AppError BAD_UPLOAD, BODY_TOO_LARGE for a delta that this gateway does not take */
function requireDeltas({ sync, limits }: Config, deltaBytes: number, modelBytes: number): void {
  if (modelBytes > limits.modelBytes) {
    const message = `Upload-Metadata: found the model_size ${modelBytes}, expected at most ${limits.modelBytes} (limits.modelBytes)`
    throw new AppError('BODY_TOO_LARGE', { maxBytes: limits.modelBytes }, { message })
  }
  const message = !sync.deltas
    ? 'Upload-Metadata: found delta_base, expected a model: this gateway takes no deltas (sync.deltas)'
    : `Upload-Length: found a delta of ${deltaBytes} bytes, expected fewer than the ${modelBytes} of the model`
  if (!sync.deltas || deltaBytes >= modelBytes) throw new AppError('BAD_UPLOAD', {}, { message })
}

/**
 * Answers `fl.announce`.
 *
 * @throws AppError INVALID_PARAMS, and the errors of `announceUpload`
 */
export async function announce(
  { config, register, uploads, newId, timeZoneMin }: ModelFileDeps,
  { sha256, sizeBytes, data, bases, delta }: AnnouncedModel,
  caller: Caller,
): Promise<z.input<typeof AnnounceResult>> {
  const { PUT_FEEDBACK } = await import('../../api/model-store/upload-methods.js')
  const facts = { ...PUT_FEEDBACK.readFacts(data), tenantId: caller.keyName }
  const upload = { uploadId: newId(), keyId: caller.keyId, sha256, sizeBytes, facts, ...(delta && { delta }) }
  const maxModelBytes = config.limits.modelBytes
  const takesDeltas = config.sync.deltas && sizeBytes >= config.sync.deltaMinBytes
  const answer = await announceUpload({ register, uploads, maxModelBytes, takesDeltas }, upload, bases)
  if ('model' in answer)
    return { have: true as const, model_info: toModelInfo(answer.model, timeZoneMin, register.signatures) }
  if (!('upload' in answer)) return { have: false, base: answer.base }
  const { uploadId, offsetBytes } = answer.upload
  const base = answer.base === undefined ? {} : { base: answer.base }
  return { have: false, upload_url: `${UPLOADS_PATH}/${uploadId}`, offset: offsetBytes, ...base }
}

/** Returns the facts of `rpc.discover` by which other gateways recognize this node. */
export function peerFacts(nodeId: string, { sync }: Pick<Config, 'sync'>): object {
  return {
    'x-node-id': nodeId,
    'x-resumable-upload': { path: UPLOADS_PATH, protocol: 'tus 1.0.0', checksum: CHECKSUM_ALGORITHMS },
    'x-model-signatures': true,
    'x-model-deltas': sync.deltas,
    'x-uploads': UPLOAD_NAMES,
  }
}

function badMethod(found: string): AppError {
  const expected = UPLOAD_NAMES.join(', ')
  const message = `Upload-Metadata: found the method ${found.slice(0, 100)}, expected one of ${expected}`
  return new AppError('BAD_UPLOAD', {}, { message })
}
