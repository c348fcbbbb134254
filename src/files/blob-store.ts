import { createHash, type Hash, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.js'

/** What is known of bytes once they were read through. */
export interface BlobFacts {
  /** hex */
  sha256: string
  /** hex */
  md5: string
  sizeBytes: number
}

/** Bytes that are written and synced, but have no name yet: exactly one of the two must be called. */
export interface StagedBlob extends BlobFacts {
  /** puts them under their digest; when it resolves a power cut cannot take them any more */
  keep(): Promise<void>
  drop(): Promise<void>
}

/** Half-open: bytes `start` to `end - 1`. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Bytes by digest. The same bytes are kept once. Small and async, so that a hub can keep them in an object store;
 * `test/support/blob-store-conformance.ts` says what every implementation must do.
 */
export interface BlobStore {
  /** takes bytes as they come. @throws what the source throws, or AppError DISK_FULL; nothing is left behind then */
  stage(source: AsyncIterable<Uint8Array>): Promise<StagedBlob>
  /** takes over a synced file of the same file system; dropping it leaves the file where it was */
  stageFile(file: string, facts: BlobFacts): Promise<StagedBlob>
  /** undefined when there are none of the digest */
  open(sha256: string, range?: ByteRange): Promise<AsyncIterableIterator<Uint8Array> | undefined>
  stat(sha256: string): Promise<{ sizeBytes: number } | undefined>
  /** no error when there are none */
  remove(sha256: string): Promise<void>
  /** puts damaged bytes aside, so that nobody reads them and they can be looked at */
  quarantine(sha256: string): Promise<void>
  list(): AsyncIterableIterator<string>
}

/** Chunks are gathered to this size before they are written. */
const PIECE_BYTES = 256 * 1024
/** Bytes are read in pieces of this size. */
const READ_BYTES = 64 * 1024

export interface BlobStoreOptions {
  /** digests become file names below it */
  dir: string
  /** half-written files; must lie in the same file system */
  tempDir: string
  /** asked before bytes are written; throws AppError DISK_FULL */
  requireSpace?: (bytes: number) => Promise<void>
}

/** The embedded blob store: files named by digest in 256 folders. */
export function createBlobStore(options: BlobStoreOptions): BlobStore {
  const { dir, tempDir } = options
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const fileOf = (sha256: string) => path.join(dir, folderOf(sha256), sha256)
  return {
    async stage(source) {
      const temp = path.join(tempDir, `${randomUUID()}.blob`)
      const facts = await writeSynced(temp, source, options.requireSpace)
      return { ...facts, keep: () => moveInto(temp, fileOf(facts.sha256), dir), drop: () => unlink(temp) }
    },
    async stageFile(file, facts) {
      return { ...facts, keep: () => moveInto(file, fileOf(facts.sha256), dir), drop: async () => undefined }
    },
    async open(sha256, range) {
      const handle = await ifThere(open(fileOf(sha256), 'r'))
      return handle === undefined ? undefined : readPieces(handle, range)
    },
    async stat(sha256) {
      const found = await ifThere(stat(fileOf(sha256)))
      return found === undefined ? undefined : { sizeBytes: found.size }
    },
    async remove(sha256) {
      await ifThere(unlink(fileOf(sha256)))
    },
    async quarantine(sha256) {
      const aside = path.join(dir, 'quarantine')
      await mkdir(aside, { recursive: true, mode: 0o700 })
      await ifThere(rename(fileOf(sha256), path.join(aside, `${sha256}.${randomUUID().slice(0, 8)}`)))
    },
    list: () => listDigests(dir),
  }
}

/** SHA-256 and MD5 of bytes that pass by. */
export function createDigester(): { update(chunk: Uint8Array): void; facts(): BlobFacts; copy(): Digester } {
  return digesterOf(createHash('sha256'), createHash('md5'), 0)
}

export type Digester = ReturnType<typeof createDigester>

/** Reads bytes through and tells what they are. */
export async function digestOf(source: AsyncIterable<Uint8Array>): Promise<BlobFacts> {
  const digester = createDigester()
  for await (const chunk of source) digester.update(chunk)
  return digester.facts()
}

/** Makes the names in a folder safe from a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** True for what the system says when a disk, or a quota, is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

/** Two letters of a digest, so that no folder gets too large. @throws Error for what is no digest */
function folderOf(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256))
    throw new Error(`found the digest ${sha256.slice(0, 80)}, expected 64 hex digits`)
  return sha256.slice(0, 2)
}

async function writeSynced(
  file: string,
  source: AsyncIterable<Uint8Array>,
  requireSpace: BlobStoreOptions['requireSpace'],
): Promise<BlobFacts> {
  const digester = createDigester()
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const piece of gather(source)) {
      await requireSpace?.(piece.bytes)
      // the disk writes while the digests are computed
      const written = writeAll(handle, piece.chunks, piece.bytes)
      try {
        for (const chunk of piece.chunks) digester.update(chunk)
      } finally {
        await written
      }
    }
    await handle.sync()
    return digester.facts()
  } catch (error) {
    await unlink(file)
    throw isDiskFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
  } finally {
    await handle.close()
  }
}

interface Piece {
  chunks: Uint8Array[]
  bytes: number
}

/** Network chunks are small: fewer, larger writes take less time. */
async function* gather(source: AsyncIterable<Uint8Array>): AsyncIterableIterator<Piece> {
  let piece: Piece = { chunks: [], bytes: 0 }
  for await (const chunk of source) {
    piece.chunks.push(chunk)
    piece.bytes += chunk.byteLength
    if (piece.bytes < PIECE_BYTES) continue
    yield piece
    piece = { chunks: [], bytes: 0 }
  }
  if (piece.bytes > 0) yield piece
}

/** `writev` may write less than it was given, for instance just before the disk is full. */
async function writeAll(handle: FileHandle, chunks: Uint8Array[], bytes: number): Promise<void> {
  const { bytesWritten } = await handle.writev(chunks)
  if (bytesWritten === bytes) return
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  for (let at = 0; at < rest.byteLength; ) at += (await handle.write(rest, at)).bytesWritten
}

async function moveInto(temp: string, file: string, root: string): Promise<void> {
  const folder = path.dirname(file)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  // over what may be there: bytes that were damaged since are whole again by that
  await rename(temp, file)
  await syncFolder(folder)
  if (made !== undefined) await syncFolder(root)
}

/** Not a generator: `return()` must close the file also when nobody began to read. */
function readPieces(handle: FileHandle, range?: ByteRange): AsyncIterableIterator<Uint8Array> {
  let at = range?.start ?? 0
  const end = range?.end ?? Number.POSITIVE_INFINITY
  let isOpen = true
  const finish = async (): Promise<IteratorReturnResult<undefined>> => {
    if (isOpen) {
      isOpen = false
      await handle.close()
    }
    return { done: true, value: undefined }
  }
  return {
    async next() {
      if (!isOpen || at >= end) return await finish()
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, end - at))
      const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, at)
      if (bytesRead === 0) return await finish()
      at += bytesRead
      return { done: false, value: buffer.subarray(0, bytesRead) }
    },
    return: finish,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* listDigests(dir: string): AsyncIterableIterator<string> {
  const folders = (await readdir(dir)).filter((name) => /^[0-9a-f]{2}$/.test(name)).sort()
  for (const folder of folders) {
    const names = await readdir(path.join(dir, folder))
    for (const name of names.sort()) if (/^[0-9a-f]{64}$/.test(name)) yield name
  }
}

function digesterOf(
  sha256: Hash,
  md5: Hash,
  startBytes: number,
): {
  update(chunk: Uint8Array): void
  facts(): BlobFacts
  copy(): Digester
} {
  let sizeBytes = startBytes
  return {
    update(chunk) {
      sha256.update(chunk)
      md5.update(chunk)
      sizeBytes += chunk.byteLength
    },
    // of copies, so that more bytes may follow
    facts: () => ({ sha256: sha256.copy().digest('hex'), md5: md5.copy().digest('hex'), sizeBytes }),
    copy: () => digesterOf(sha256.copy(), md5.copy(), sizeBytes),
  }
}

/** The result, or undefined when the file is not there. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
