import { createHash } from 'node:crypto'
import { AppError, isAppError } from '../errors.js'
import {
  type BlobFacts,
  createDigester,
  type Digester,
  digestOf,
  type StagedBlob,
} from '../files/blob-store.js'
import type { PartFiles } from '../files/part-files.js'
import { appendToPart, type PartSink } from '../files/part-sink.js'
import { parseExact } from '../json/exact-json.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { UploadRecord, UploadRows } from '../storage/models/uploads.js'
import { unknownModel } from './faults.js'
import { type RebuildDeps, rebuild } from './rebuild.js'
import { type ModelFacts, type RegisterDeps, registerModel } from './register-model.js'
import { requireSigned } from './require-signed.js'

/**
 * Facts that an upload registers when it is complete. Kept as JSON, so the order of the keys must not change.
 */
type UploadFacts = Omit<ModelFacts, 'startUs'>

/** Delta that is uploaded instead of the file. */
export interface UploadDelta {
  /** digest of the stored file that it is applied to, hex */
  base: string
  /** digest of the delta itself, hex */
  sha256: string
  sizeBytes: number
}

export interface NewUpload {
  uploadId: string
  keyId: string
  /** announced digest of the model, hex */
  sha256: string
  /** size of the model */
  sizeBytes: number
  facts: UploadFacts
  /** absent for the file itself */
  delta?: UploadDelta
}

/** Content of `params` of the row. A delta is in it with the size of the model that it becomes. */
type UploadParams = UploadFacts & { delta?: { base: string; sha256: string; modelBytes: number } }

/** Digest of the bytes of one append, which is kept completely or not at all. */
interface PieceChecksum {
  algorithm: 'sha1' | 'sha256'
  digest: Uint8Array
}

interface UploadsDeps extends RegisterDeps, Pick<RebuildDeps, 'work' | 'tempDir'> {
  uploads: UploadRows
  parts: PartFiles
  /** unfinished uploads that a key may have */
  maxOpenPerKey: number
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

/** Resumable uploads. They survive a lost connection and a restart of either side. */
export interface Uploads {
  /** @throws AppError TOO_MANY_UPLOADS, DISK_FULL */
  create(upload: NewUpload): Promise<UploadRecord>
  /** Finds an unfinished upload of the same key, bytes and facts. */
  findSame(upload: Omit<NewUpload, 'uploadId'>): Promise<UploadRecord | undefined>
  find(uploadId: string): Promise<UploadRecord | undefined>
  /**
   * Appends bytes to an upload.
   *
   * @returns the new offset; the bytes before it are on disk
   * @throws AppError DIGEST_MISMATCH for a wrong checksum, and the errors of `appendToPart`
   */
  append(upload: UploadRecord, source: AsyncIterable<Uint8Array>, checksum?: PieceChecksum): Promise<number>
  /**
   * Registers a complete upload. A second call returns the same model.
   *
   * @throws AppError DIGEST_MISMATCH and removes the upload if its bytes differ from the announced digest;
   *   SIGNATURE_REFUSED, and BAD_DELTA for a delta that cannot be applied, which remove it too; UNKNOWN_MODEL
   *   when its model was deleted since
   */
  finish(uploadId: string): Promise<ModelRecord>
  /**
   * Registers the uploads that were cut off between their last byte and their model, for example by a power
   * cut. An upload that cannot be registered stays, and its error is reported.
   *
   * @returns number of registered uploads
   */
  finishComplete(onFault: (uploadId: string, error: unknown) => void): Promise<number>
  remove(uploadId: string): Promise<void>
  /**
   * Waits until running appends and registrations are on disk; deltas are applied after the next start. Called
   * before the database is closed.
   */
  settle(): Promise<void>
  /**
   * Removes uploads without activity since an instant, and parts without a row.
   *
   * @param isPartKept reports parts that belong to something else than an upload
   * @returns number of removed uploads
   */
  removeIdle(beforeUs: number, isPartKept: (partId: string) => boolean): Promise<number>
}

/** Idle uploads removed by one `removeIdle`, and complete ones registered by one `finishComplete`. */
const SWEEP_UPLOADS = 1000

interface Engine extends UploadsDeps {
  /** digests of the uploads that this process has followed from their first byte */
  digesters: Map<string, Digester>
  /** aborted when the gateway stops */
  closing: AbortSignal
  remove(uploadId: string): Promise<void>
}

/** Creates the resumable uploads of a gateway. */
export function createUploads(deps: UploadsDeps): Uploads {
  const { uploads, parts } = deps
  const digesters = new Map<string, Digester>()
  /** uploads whose last bytes were taken, until they are registered: on a hub their rows do not say so */
  const complete = new Set<string>()
  const remove = async (uploadId: string) => {
    digesters.delete(uploadId)
    complete.delete(uploadId)
    await uploads.remove(uploadId)
    await parts.remove(uploadId)
  }
  const closing = new AbortController()
  const engine: Engine = { ...deps, digesters, remove, closing: closing.signal }
  const running = new Set<Promise<unknown>>()
  const finishing = new Map<string, Promise<ModelRecord>>()
  const tracked = <T>(work: Promise<T>): Promise<T> => {
    running.add(work)
    return work.finally(() => running.delete(work))
  }
  // two callers at once share one registration: the second would not find the part that the first one moves
  const finishOnce = (uploadId: string): Promise<ModelRecord> => {
    const known = finishing.get(uploadId)
    if (known !== undefined) return known
    const work = tracked(finish(engine, uploadId)).finally(() => {
      finishing.delete(uploadId)
      complete.delete(uploadId)
    })
    finishing.set(uploadId, work)
    return work
  }
  const appendOnce: Uploads['append'] = async (upload, source, checksum) => {
    const { uploadId, sizeBytes } = upload
    if (complete.has(uploadId) || finishing.has(uploadId)) {
      await finishOnce(uploadId) // its bytes are being read, and must not change
      return sizeBytes
    }
    const offset = await append(engine, upload, source, checksum)
    if (offset === sizeBytes) complete.add(uploadId)
    return offset
  }
  return {
    create: (upload) => create(engine, upload),
    findSame: (upload) => uploads.findSame(upload.keyId, upload.sha256, paramsOf(upload)),
    find: (uploadId) => uploads.find(uploadId),
    append: (upload, source, checksum) => tracked(appendOnce(upload, source, checksum)),
    finish: finishOnce,
    finishComplete: (onFault) => finishComplete(engine, finishOnce, onFault),
    remove,
    async settle() {
      closing.abort(new AppError('CANCELLED'))
      await Promise.allSettled(running)
    },
    async removeIdle(beforeUs, isPartKept) {
      const idle = await uploads.listIdle(beforeUs, SWEEP_UPLOADS)
      for (const { uploadId } of idle) await remove(uploadId)
      const known = new Set(await uploads.ids())
      for (const id of await parts.list()) if (!known.has(id) && !isPartKept(id)) await parts.remove(id)
      return idle.length
    },
  }
}

function paramsOf({ facts, delta, sizeBytes }: Omit<NewUpload, 'uploadId'>): string {
  if (delta === undefined) return JSON.stringify(facts)
  const { base, sha256 } = delta
  return JSON.stringify({ ...facts, delta: { base, sha256, modelBytes: sizeBytes } } satisfies UploadParams)
}

async function create(engine: Engine, upload: NewUpload): Promise<UploadRecord> {
  const { uploadId, keyId, sha256, sizeBytes, delta } = upload
  if ((await engine.uploads.countOpen(keyId)) >= engine.maxOpenPerKey)
    throw new AppError('TOO_MANY_UPLOADS', { maxOpenUploads: engine.maxOpenPerKey, retryAfterS: 60 })
  // the others may still send what they announced
  await engine.requireSpace(sizeBytes + (delta?.sizeBytes ?? 0) + (await engine.uploads.missingBytes()))
  const row = { uploadId, keyId, sha256, sizeBytes: delta?.sizeBytes ?? sizeBytes, params: paramsOf(upload) }
  return await engine.uploads.create(row)
}

async function append(
  engine: Engine,
  upload: UploadRecord,
  source: AsyncIterable<Uint8Array>,
  checksum: PieceChecksum | undefined,
): Promise<number> {
  const { uploads, parts, digesters, requireSpace } = engine
  const { uploadId, offsetBytes, sizeBytes } = upload
  if (offsetBytes === sizeBytes) return offsetBytes // complete: only `finish` is missing
  const writer = await parts.openAt(uploadId, offsetBytes)
  if (writer === undefined) {
    throw await startAgain(engine, uploadId)
  }
  const known = digesters.get(uploadId)
  const digester =
    known?.facts().sizeBytes === offsetBytes ? known : offsetBytes === 0 ? createDigester() : undefined
  digesters.delete(uploadId) // put back only if it has followed exactly the bytes that were kept
  const commit = (offset: number) => uploads.advance(uploadId, offset)
  const sink: PartSink = { writer, offsetBytes, sizeBytes, requireSpace, digester, commit }
  try {
    if (checksum !== undefined) {
      const trial = digester?.copy()
      const offset = await appendChecked(source, { ...sink, digester: trial }, checksum)
      if (trial !== undefined) digesters.set(uploadId, trial)
      return offset
    }
    try {
      return await appendToPart(source, sink)
    } finally {
      if (digester !== undefined) digesters.set(uploadId, digester)
    }
  } finally {
    await writer.close()
  }
}

/** Appends all bytes or none: the offset is committed only after the checksum was found right. */
async function appendChecked(
  source: AsyncIterable<Uint8Array>,
  sink: PartSink,
  { algorithm, digest }: PieceChecksum,
): Promise<number> {
  const hash = createHash(algorithm)
  const hashed = async function* () {
    for await (const chunk of source) {
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    const offset = await appendToPart(hashed(), { ...sink, commit: async () => undefined })
    const found = hash.digest()
    if (!found.equals(digest)) {
      const expected = Buffer.from(digest).toString('hex')
      const message = `Found bytes of the ${algorithm} ${found.toString('hex')}, expected ${expected}`
      throw new AppError('DIGEST_MISMATCH', {}, { message })
    }
    await sink.commit(offset)
    return offset
  } catch (error) {
    await sink.writer.truncate(sink.offsetBytes)
    throw error
  }
}

async function finish(engine: Engine, uploadId: string): Promise<ModelRecord> {
  const upload = await engine.uploads.find(uploadId)
  if (upload === undefined) throw new Error('the row of a running upload is missing')
  if (upload.modelId !== null) {
    const model = await engine.models.findForTransfer(upload.modelId)
    if (model === undefined) throw unknownModel(upload.modelId) // deleted since
    return model
  }
  const { delta, ...facts } = parseExact(upload.params) as UploadParams // written by `create`
  const staged =
    delta === undefined
      ? await stageWhole(engine, upload, facts)
      : await stageRebuilt(engine, upload, facts, delta)
  const model = await registerModel(engine, staged, { ...facts, startUs: upload.createdAtUs }, { uploadId })
  engine.digesters.delete(uploadId)
  await engine.parts.remove(uploadId) // left over if the same origin was registered meanwhile
  return model
}

/** Stages the bytes that arrived. @throws AppError DIGEST_MISMATCH, SIGNATURE_REFUSED and removes the upload */
async function stageWhole(engine: Engine, upload: UploadRecord, facts: UploadFacts): Promise<StagedBlob> {
  const { uploadId, sizeBytes, sha256 } = upload
  const followed = engine.digesters.get(uploadId)?.facts()
  const found = followed?.sizeBytes === sizeBytes ? followed : await digestPart(engine, upload)
  if (found.sha256 !== sha256 || found.sizeBytes !== sizeBytes) {
    await engine.remove(uploadId)
    const message = `Found ${found.sizeBytes} bytes of the SHA-256 ${found.sha256}, expected ${sizeBytes} of ${sha256}`
    throw new AppError('DIGEST_MISMATCH', { found: found.sha256, expected: sha256 }, { message })
  }
  await refuseUnsigned(engine, upload, facts)
  return await stagePart(engine, upload, found)
}

/** Rebuilds the model from the delta that arrived. @throws AppError BAD_DELTA and removes the upload */
async function stageRebuilt(
  engine: Engine,
  upload: UploadRecord,
  facts: UploadFacts,
  { base, modelBytes }: { base: string; modelBytes: number },
): Promise<StagedBlob> {
  const { uploadId, sha256 } = upload
  await refuseUnsigned(engine, upload, facts)
  const file = engine.parts.pathOf(uploadId)
  try {
    return await rebuild(engine, { file, base, sha256, sizeBytes: modelBytes }, engine.closing)
  } catch (error) {
    // any other error may pass: the same delta is tried again
    if (isAppError(error) && error.errorName === 'BAD_DELTA') await engine.remove(uploadId)
    throw error
  }
}

/**
 * Removes an upload that lacks the signature that its model needs by now.
 *
 * @throws AppError SIGNATURE_REFUSED
 */
async function refuseUnsigned(
  engine: Engine,
  { uploadId, sha256 }: UploadRecord,
  facts: UploadFacts,
): Promise<void> {
  try {
    await requireSigned(engine, facts, sha256)
  } catch (error) {
    await engine.remove(uploadId)
    throw error
  }
}

async function finishComplete(
  { uploads }: Engine,
  finishOnce: (uploadId: string) => Promise<ModelRecord>,
  onFault: (uploadId: string, error: unknown) => void,
): Promise<number> {
  let count = 0
  for (const uploadId of await uploads.listUnregistered(SWEEP_UPLOADS)) {
    try {
      await finishOnce(uploadId)
      count++
    } catch (error) {
      onFault(uploadId, error)
    }
  }
  return count
}

/**
 * Reads the bytes of an upload whose beginning arrived in an earlier run, from the part or from the blob
 * store.
 */
async function digestPart(engine: Engine, { uploadId, sizeBytes, sha256 }: UploadRecord): Promise<BlobFacts> {
  const { parts, blobs } = engine
  if (sizeBytes === 0) return createDigester().facts()
  if (await parts.has(uploadId)) return await digestOf(parts.read(uploadId, sizeBytes))
  const moved = await blobs.open(sha256)
  if (moved === undefined) throw await startAgain(engine, uploadId)
  return await digestOf(moved)
}

/** Sets an upload back whose bytes are lost, or with another process of a hub. @returns the error for its caller */
async function startAgain({ uploads }: Engine, uploadId: string): Promise<AppError> {
  await uploads.advance(uploadId, 0)
  const message = 'The bytes of this upload are not here any more: it starts again at 0'
  return new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message })
}

async function stagePart(
  engine: Engine,
  { uploadId, sizeBytes }: UploadRecord,
  facts: BlobFacts,
): Promise<StagedBlob> {
  const { parts, blobs } = engine
  if (sizeBytes === 0) await (await parts.openAt(uploadId, 0))?.close() // nothing was appended: create the empty file
  if (await parts.has(uploadId)) return await blobs.stageFile(parts.pathOf(uploadId), facts)
  // after a crash between the move and the row the bytes are in the blob store already
  if ((await blobs.stat(facts.sha256)) === undefined) throw await startAgain(engine, uploadId)
  return { ...facts, keep: async () => undefined, drop: async () => undefined }
}
