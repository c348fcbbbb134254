import { createHash, type Hash, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.js'

/** Digests and size of bytes. */
export interface BlobFacts {
  /** hex */
  sha256: string
  /** hex */
  md5: string
  sizeBytes: number
}

/** Bytes that are written and synced but not stored yet. Exactly one of `keep` and `drop` must be called. */
export interface StagedBlob extends BlobFacts {
  /** Stores the bytes under their digest. When it resolves, they survive a power cut. */
  keep(): Promise<void>
  /** Removes the bytes. */
  drop(): Promise<void>
}

/** Half-open range: bytes `start` to `end - 1`. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Bytes by digest; equal bytes are stored once. Implementations pass
 * `test/support/blob-store-conformance.ts`.
 */
export interface BlobStore {
  /**
   * Writes a source.
   *
   * @throws whatever the source throws, or AppError DISK_FULL; nothing is left behind then
   */
  stage(source: AsyncIterable<Uint8Array>): Promise<StagedBlob>
  /** Stages a synced file of the same file system; `drop` leaves the file in place. */
  stageFile(file: string, facts: BlobFacts): Promise<StagedBlob>
  /** Opens bytes for reading; undefined for an unknown digest. */
  open(sha256: string, range?: ByteRange): Promise<AsyncIterableIterator<Uint8Array> | undefined>
  stat(sha256: string): Promise<{ sizeBytes: number } | undefined>
  /** Returns the path of bytes on this disk, for work in another thread; undefined for an unknown digest. */
  localFile(sha256: string): Promise<string | undefined>
  /** Removes bytes; an unknown digest is no error. */
  remove(sha256: string): Promise<void>
  /** Moves damaged bytes away, where they can be examined but not read through the store. */
  quarantine(sha256: string): Promise<void>
  /** Returns all digests, in order. */
  list(): AsyncIterableIterator<string>
}

/** Chunks are gathered to this size before a write. */
const PIECE_BYTES = 256 * 1024
/** Size of one read. */
const READ_BYTES = 64 * 1024

interface BlobStoreOptions {
  /** directory of the stored files */
  dir: string
  /** directory of staged files, in the same file system */
  tempDir: string
  /** called before a write; throws AppError DISK_FULL */
  requireSpace?: (bytes: number) => Promise<void>
}

/** Creates a blob store in a directory: files named by their digest, in 256 folders. */
export function createBlobStore(options: BlobStoreOptions): BlobStore {
  const { dir, tempDir } = options
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const fileOf = (sha256: string) => path.join(dir, folderOf(sha256), sha256)
  return {
    async stage(source) {
      // a cleaner of temporary files may have removed it
      await mkdir(tempDir, { recursive: true, mode: 0o700 })
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
    localFile: async (sha256) =>
      (await ifThere(stat(fileOf(sha256)))) === undefined ? undefined : fileOf(sha256),
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

/** Digests of a stream of bytes. */
export interface Digester {
  update(chunk: Uint8Array): void
  /** Returns the facts of the bytes so far; more may follow. */
  facts(): BlobFacts
  /** Returns a digester that continues from here independently. */
  copy(): Digester
}

/** Creates a digester of SHA-256 and MD5. */
export function createDigester(): Digester {
  return digesterOf(createHash('sha256'), createHash('md5'), 0)
}

/** Reads a source to its end and returns its facts. */
export async function digestOf(source: AsyncIterable<Uint8Array>): Promise<BlobFacts> {
  const digester = createDigester()
  for await (const chunk of source) digester.update(chunk)
  return digester.facts()
}

/** Syncs a folder, so that the names in it survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Reports whether a write failed because a disk or a quota is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

/** Returns a digest as it is. @throws Error for text that is not a digest */
export function requireDigest(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256))
    throw new Error(`found the digest ${sha256.slice(0, 80)}, expected 64 hex digits`)
  return sha256
}

/** Returns the first two digits of a digest, which name its folder. */
function folderOf(sha256: string): string {
  return requireDigest(sha256).slice(0, 2)
}

/**
 * Writes a source to a new file, which survives a crash of this program, but not a power cut.
 *
 * @throws whatever the source throws, or AppError DISK_FULL; no file is left then
 */
export function writeSpooled(file: string, source: AsyncIterable<Uint8Array>): Promise<BlobFacts> {
  return writeWhole(file, source, { isSynced: false })
}

async function writeSynced(
  file: string,
  source: AsyncIterable<Uint8Array>,
  requireSpace: BlobStoreOptions['requireSpace'],
): Promise<BlobFacts> {
  return await writeWhole(file, source, { requireSpace, isSynced: true })
}

async function writeWhole(
  file: string,
  source: AsyncIterable<Uint8Array>,
  { requireSpace, isSynced }: { requireSpace?: BlobStoreOptions['requireSpace']; isSynced: boolean },
): Promise<BlobFacts> {
  const digester = createDigester()
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const piece of gather(source)) {
      await requireSpace?.(piece.bytes)
      // the digests are computed while the disk writes
      const written = writeAll(handle, piece.chunks, piece.bytes)
      try {
        for (const chunk of piece.chunks) digester.update(chunk)
      } finally {
        await written
      }
    }
    if (isSynced) await handle.sync()
    return digester.facts()
  } catch (error) {
    await unlink(file)
    throw isDiskFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
  } finally {
    await handle.close()
  }
}

/** Chunks of one write. */
interface Piece {
  chunks: Uint8Array[]
  bytes: number
}

/** Gathers small chunks of a network into larger writes, which take less time. */
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

/** Writes all chunks. One `writev` may write less, for example just before the disk is full. */
async function writeAll(handle: FileHandle, chunks: Uint8Array[], bytes: number): Promise<void> {
  const { bytesWritten } = await handle.writev(chunks)
  if (bytesWritten === bytes) return
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  for (let at = 0; at < rest.byteLength; ) at += (await handle.write(rest, at)).bytesWritten
}

/** Moves a synced file to its place and syncs the folders. */
async function moveInto(temp: string, file: string, root: string): Promise<void> {
  const folder = path.dirname(file)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  // replaces an existing file, whose bytes may be damaged
  await rename(temp, file)
  await syncFolder(folder)
  if (made !== undefined) await syncFolder(root)
}

/**
 * Reads a range of a file. Not a generator, because `return()` must close the file before the first read too.
 */
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

function digesterOf(sha256: Hash, md5: Hash, startBytes: number): Digester {
  let sizeBytes = startBytes
  return {
    update(chunk) {
      sha256.update(chunk)
      md5.update(chunk)
      sizeBytes += chunk.byteLength
    },
    // digests of copies, because a digest ends its hash
    facts: () => ({ sha256: sha256.copy().digest('hex'), md5: md5.copy().digest('hex'), sizeBytes }),
    copy: () => digesterOf(sha256.copy(), md5.copy(), sizeBytes),
  }
}

/** Returns the result of a file operation; undefined if the file does not exist. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
