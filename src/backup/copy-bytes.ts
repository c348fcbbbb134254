import { createReadStream, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BlobStore, createBlobStore, digestOf } from '../files/blob-store.js'
import type { DataLayout } from '../files/layout.js'
import type { Manifest } from './manifest.js'
import { listPlainFiles, type PlainFile, type StoredNames } from './names.js'
import { type BackupPlace, openBytes } from './place.js'
import { requireFree } from './space.js'

interface CopyOptions {
  readonly layout: DataLayout
  readonly reserveBytes: number
  /** reading speed; 0 for no limit */
  readonly bytesPerSecond: number
  /** number of the backup, which chooses the bytes of earlier backups that are read again */
  readonly sequence: number
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

/** Entries of the manifest for the bytes of one backup, and their sums. */
interface CopiedBytes extends Pick<Manifest, 'models' | 'tableFiles' | 'files' | 'lost'> {
  writtenBytes: number
  totalBytes: number
  blobs: number
  /** blobs that the place held before */
  blobsKnown: number
}

/** Share of the progress bar that copying the databases took. */
const STARTS_AT = 0.4
/** Attempts to read a file that changes while it is read; the last one counts. */
const TRIES = 3

/**
 * Copies bytes that a place of backups does not hold yet. The caller keeps bytes from being removed meanwhile
 * (`SweepLease`).
 *
 * @param named bytes that rows refer to
 * @throws Error with both figures when the disk of the place has too little space
 */
export async function copyBytes(
  place: BackupPlace,
  named: Pick<StoredNames, 'models' | 'tableFiles'>,
  options: CopyOptions,
): Promise<CopiedBytes> {
  const { layout } = options
  const target = openBytes(place)
  const open = (dir: string) => createBlobStore({ dir, tempDir: place.tempDir })
  const work: Work = {
    target,
    options,
    done: {
      models: [],
      tableFiles: [],
      files: [],
      lost: [],
      writtenBytes: 0,
      totalBytes: 0,
      blobs: 0,
      blobsKnown: 0,
    },
    startedMs: performance.now(),
    neededBytes: 0,
  }
  const plain = listPlainFiles(layout)
  work.neededBytes = await sizeOfNew(target, named, plain)
  await requireFree(place.root, work.neededBytes, options.reserveBytes)
  const models = open(layout.modelsDir)
  for (const { sha256, isDamaged } of named.models) {
    const sizeBytes = await copyBlob(work, models, sha256, 'model', isDamaged)
    if (sizeBytes !== undefined) work.done.models.push([sha256, sizeBytes])
  }
  const files = open(layout.filesDir)
  for (const sha256 of named.tableFiles) {
    const sizeBytes = await copyBlob(work, files, sha256, 'file', false)
    if (sizeBytes !== undefined) work.done.tableFiles.push([sha256, sizeBytes])
  }
  for (const file of plain) await copyPlain(work, file)
  return work.done
}

interface Work {
  readonly target: BlobStore
  readonly options: CopyOptions
  readonly done: CopiedBytes
  readonly startedMs: number
  /** size of the bytes that the place does not hold yet, for the progress bar */
  neededBytes: number
}

/**
 * Size of models and plain files to copy. Rows of tables do not record the sizes of their files, so those are
 * not included.
 */
async function sizeOfNew(
  target: BlobStore,
  named: Pick<StoredNames, 'models'>,
  plain: readonly PlainFile[],
): Promise<number> {
  let sum = plain.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
  for (const { sha256, sizeBytes } of named.models)
    if ((await target.stat(sha256)) === undefined) sum += sizeBytes
  return sum
}

/** @returns the size; undefined when the bytes are lost, which the manifest then lists */
async function copyBlob(
  work: Work,
  source: BlobStore,
  sha256: string,
  kind: 'model' | 'file',
  isKnownDamage: boolean,
): Promise<number | undefined> {
  const { done, target } = work
  work.options.signal?.throwIfAborted()
  const known = await target.stat(sha256)
  const found = await source.stat(sha256)
  const lose = (reason: string) => {
    done.lost.push({ sha256, kind, reason })
    return undefined
  }
  const isSame = known !== undefined && (found === undefined || found.sizeBytes === known.sizeBytes)
  // bytes that the gateway has lost since may be intact in an earlier backup
  if (isSame && (!isDue(sha256, work.options.sequence) || (await isIntact(work, sha256)))) {
    count(done, known.sizeBytes, true)
    return known.sizeBytes
  }
  const bytes = await source.open(sha256)
  if (bytes === undefined) return lose(isKnownDamage ? 'damaged, and quarantined' : 'missing')
  const staged = await target.stage(paced(work, bytes))
  if (staged.sha256 !== sha256) {
    await staged.drop()
    return lose(`damaged: found bytes with the digest ${staged.sha256}`)
  }
  await staged.keep()
  count(done, staged.sizeBytes, false)
  return staged.sizeBytes
}

/** Each backup reads a sixteenth of the bytes that the place holds again: decay is found and repaired. */
const ROTATION = 16

function isDue(sha256: string, sequence: number): boolean {
  return Number.parseInt(sha256.slice(0, 1), 16) === sequence % ROTATION
}

/** True when bytes of the place still have their digest. */
async function isIntact(work: Work, sha256: string): Promise<boolean> {
  const bytes = await work.target.open(sha256)
  return bytes !== undefined && (await digestOf(paced(work, bytes))).sha256 === sha256
}

/**
 * Copies a file that may be replaced while it is read. The manifest lists the digest of the bytes that were
 * read.
 */
async function copyPlain(work: Work, { path, file, isExecutable }: PlainFile): Promise<void> {
  for (let tries = 1; ; tries++) {
    work.options.signal?.throwIfAborted()
    const before = stampOf(file)
    if (before === undefined) return // removed since the folder was listed
    const staged = await work.target.stage(paced(work, createReadStream(file)))
    if (stampOf(file) !== before && tries < TRIES) {
      await staged.drop()
      continue
    }
    const { sha256, sizeBytes } = staged
    const isKnown = (await work.target.stat(sha256)) !== undefined
    if (isKnown) await staged.drop()
    else await staged.keep()
    count(work.done, sizeBytes, isKnown)
    work.done.files.push({ path, sha256, sizeBytes, isExecutable })
    return
  }
}

function stampOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.ino} ${found.size} ${found.mtimeMs}`
}

function count(done: CopiedBytes, sizeBytes: number, isKnown: boolean): void {
  done.blobs++
  done.totalBytes += sizeBytes
  if (isKnown) done.blobsKnown++
  else done.writtenBytes += sizeBytes
}

/** Passes bytes on at no more than `bytesPerSecond`, and reports progress. */
async function* paced(work: Work, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { bytesPerSecond, signal, onProgress } = work.options
  let passed = 0
  for await (const chunk of source) {
    signal?.throwIfAborted()
    passed += chunk.byteLength
    const all = work.done.writtenBytes + passed
    onProgress?.(STARTS_AT + (1 - STARTS_AT) * Math.min(1, all / Math.max(1, work.neededBytes)), 'files')
    if (bytesPerSecond > 0) {
      const aheadMs = (all / bytesPerSecond) * 1000 - (performance.now() - work.startedMs)
      if (aheadMs > 1) await sleep(aheadMs)
    }
    yield chunk
  }
}
