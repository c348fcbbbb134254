import { createHash } from 'node:crypto'
import { AppError } from '../errors.js'
import {
  type BlobFacts,
  createDigester,
  type Digester,
  digestOf,
  type StagedBlob,
} from '../files/blob-store.js'
import type { PartFiles } from '../files/part-files.js'
import { appendToPart } from '../files/part-sink.js'
import type { ModelRecord } from '../storage/models.js'
import type { UploadRecord, UploadRows } from '../storage/uploads.js'
import { type ModelFacts, type RegisterDeps, registerModel } from './register-model.js'

/** What an upload registers when it is whole. */
export type UploadFacts = Omit<ModelFacts, 'startUs'>

export interface NewUpload {
  uploadId: string
  keyId: string
  sha256: string
  sizeBytes: number
  facts: UploadFacts
}

/** Digest of the bytes of one append, which then counts whole or not at all. */
export interface PieceChecksum {
  algorithm: 'sha1' | 'sha256'
  digest: Uint8Array
}

export interface UploadsDeps extends RegisterDeps {
  uploads: UploadRows
  parts: PartFiles
  maxOpenPerKey: number
  requireSpace(bytes: number): Promise<void>
}

/** Resumable uploads: they go on after the connection, or either side, was lost. */
export interface Uploads {
  /** @throws AppError TOO_MANY_UPLOADS, DISK_FULL */
  create(upload: NewUpload): Promise<UploadRecord>
  /** one that the same key began for the same bytes and facts */
  findSame(upload: Omit<NewUpload, 'uploadId'>): Promise<UploadRecord | undefined>
  find(uploadId: string): Promise<UploadRecord | undefined>
  /** @returns the offset after it, which is on disk. @throws AppError DIGEST_MISMATCH for a piece, and see `appendToPart` */
  append(upload: UploadRecord, source: AsyncIterable<Uint8Array>, checksum?: PieceChecksum): Promise<number>
  /** registers what is whole; again answers the same model. @throws AppError DIGEST_MISMATCH: the upload is gone then */
  finish(uploadId: string): Promise<ModelRecord>
  remove(uploadId: string): Promise<void>
  /** waits until what is being appended or finished now is on disk: before the database is closed */
  settle(): Promise<void>
  /** removes uploads without activity since an instant, and parts that no row knows */
  removeIdle(beforeUs: number, isPartKept: (id: string) => boolean): Promise<number>
}

export function createUploads(deps: UploadsDeps): Uploads {
  const { uploads, parts } = deps
  /** digests of uploads that this process saw from their first byte on */
  const digesters = new Map<string, Digester>()
  const running = new Set<Promise<unknown>>()
  const tracked = async <T>(work: Promise<T>): Promise<T> => {
    running.add(work)
    try {
      return await work
    } finally {
      running.delete(work)
    }
  }
  const forget = async (uploadId: string) => {
    digesters.delete(uploadId)
    await uploads.remove(uploadId)
    await parts.remove(uploadId)
  }
  return {
    async create({ uploadId, keyId, sha256, sizeBytes, facts }) {
      if ((await uploads.countOpen(keyId)) >= deps.maxOpenPerKey)
        throw new AppError('TOO_MANY_UPLOADS', { maxOpenUploads: deps.maxOpenPerKey, retryAfterS: 60 })
      await deps.requireSpace(sizeBytes)
      return await uploads.create({ uploadId, keyId, sha256, sizeBytes, params: JSON.stringify(facts) })
    },
    findSame: ({ keyId, sha256, facts }) => uploads.findSame(keyId, sha256, JSON.stringify(facts)),
    find: (uploadId) => uploads.find(uploadId),
    append: (upload, source, checksum) => tracked(append(deps, digesters, upload, source, checksum)),
    async finish(uploadId) {
      const upload = await uploads.find(uploadId)
      if (upload === undefined) throw new Error('an upload that was just written is not there')
      return await tracked(finish(deps, digesters, upload, forget))
    },
    remove: forget,
    async settle() {
      await Promise.allSettled(running)
    },
    async removeIdle(beforeUs, isPartKept) {
      const idle = await uploads.listIdle(beforeUs, 1000)
      for (const { uploadId } of idle) await forget(uploadId)
      const known = new Set(await uploads.ids())
      for (const id of await parts.list()) if (!known.has(id) && !isPartKept(id)) await parts.remove(id)
      return idle.length
    },
  }
}

async function append(
  deps: UploadsDeps,
  digesters: Map<string, Digester>,
  upload: UploadRecord,
  source: AsyncIterable<Uint8Array>,
  checksum: PieceChecksum | undefined,
): Promise<number> {
  const { uploadId, offsetBytes, sizeBytes } = upload
  if (offsetBytes === sizeBytes) return offsetBytes // whole already: it is only asked to be finished
  const writer = await deps.parts.openAt(uploadId, offsetBytes)
  if (writer === undefined) {
    await deps.uploads.advance(uploadId, 0)
    throw new Error('a part is shorter than its row says: the upload begins anew')
  }
  const known = digesters.get(uploadId)
  const digester =
    known?.facts().sizeBytes === offsetBytes ? known : offsetBytes === 0 ? createDigester() : undefined
  digesters.delete(uploadId) // until it is certain that it followed every byte that was kept
  const sink = { writer, offsetBytes, sizeBytes, requireSpace: deps.requireSpace }
  const commit = (offset: number) => deps.uploads.advance(uploadId, offset)
  try {
    if (checksum !== undefined) {
      const trial = digester?.copy()
      const offset = await appendChecked(source, { ...sink, digester: trial, commit }, checksum)
      if (trial !== undefined) digesters.set(uploadId, trial)
      return offset
    }
    try {
      return await appendToPart(source, { ...sink, digester, commit })
    } finally {
      if (digester !== undefined) digesters.set(uploadId, digester)
    }
  } finally {
    await writer.close()
  }
}

/** All or nothing: the offset is committed after the digest was seen to be right. */
async function appendChecked(
  source: AsyncIterable<Uint8Array>,
  sink: Parameters<typeof appendToPart>[1],
  checksum: PieceChecksum,
): Promise<number> {
  const hash = createHash(checksum.algorithm)
  const watched = async function* () {
    for await (const chunk of source) {
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    const offset = await appendToPart(watched(), { ...sink, commit: async () => undefined })
    const found = hash.digest()
    if (!found.equals(checksum.digest)) {
      throw new AppError(
        'DIGEST_MISMATCH',
        {},
        {
          message: `Found bytes of the ${checksum.algorithm} ${found.toString('hex')}, expected those of the checksum sent`,
        },
      )
    }
    await sink.commit(offset)
    return offset
  } catch (error) {
    await sink.writer.truncate(sink.offsetBytes)
    throw error
  }
}

async function finish(
  deps: UploadsDeps,
  digesters: Map<string, Digester>,
  upload: UploadRecord,
  forget: (uploadId: string) => Promise<void>,
): Promise<ModelRecord> {
  const { uploadId, sizeBytes, sha256 } = upload
  if (upload.modelId !== null) {
    const model = await deps.models.findForTransfer(upload.modelId)
    if (model !== undefined) return model
  }
  const followed = digesters.get(uploadId)?.facts()
  const found = followed?.sizeBytes === sizeBytes ? followed : await readThrough(deps, upload)
  if (found.sha256 !== sha256 || found.sizeBytes !== sizeBytes) {
    await forget(uploadId)
    const message = `Found ${found.sizeBytes} bytes of the SHA-256 ${found.sha256}, expected ${sizeBytes} of ${sha256}`
    throw new AppError('DIGEST_MISMATCH', { found: found.sha256, expected: sha256 }, { message })
  }
  const staged = await stagePart(deps, upload, found)
  const facts = JSON.parse(upload.params) as UploadFacts
  const model = await registerModel(deps, staged, { ...facts, startUs: upload.createdAtUs }, { uploadId })
  digesters.delete(uploadId)
  await deps.parts.remove(uploadId) // there still when the same origin was registered meanwhile
  return model
}

/** After a restart nobody followed the first bytes: they are read once, wherever they are by now. */
async function readThrough(
  deps: UploadsDeps,
  { uploadId, sizeBytes, sha256 }: UploadRecord,
): Promise<BlobFacts> {
  if (sizeBytes === 0) return createDigester().facts()
  const moved = (await deps.parts.has(uploadId)) ? undefined : await deps.blobs.open(sha256)
  return await digestOf(moved ?? deps.parts.read(uploadId, sizeBytes))
}

async function stagePart(
  deps: UploadsDeps,
  { uploadId, sizeBytes }: UploadRecord,
  facts: BlobFacts,
): Promise<StagedBlob> {
  if (sizeBytes === 0) await (await deps.parts.openAt(uploadId, 0))?.close()
  // a crash between the move and the row leaves the bytes in place already
  if (!(await deps.parts.has(uploadId)))
    return { ...facts, keep: async () => undefined, drop: async () => undefined }
  return await deps.blobs.stageFile(deps.parts.pathOf(uploadId), facts)
}
