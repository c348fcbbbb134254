import { createReadStream, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BlobStore, createBlobStore } from '../files/blob-store.js'
import type { DataLayout } from '../files/layout.js'
import type { Manifest } from './manifest.js'
import { listPlainFiles, type NamedModel, type PlainFile } from './names.js'
import { type BackupPlace, openBytes } from './place.js'
import { requireFree } from './space.js'

export interface CopyOptions {
  readonly layout: DataLayout
  readonly reserveBytes: number
  readonly bytesPerSecond: number
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

/** What the copied rows name. */
export interface NamedBytes {
  readonly models: readonly NamedModel[]
  readonly tableFiles: readonly string[]
}

export interface CopiedBytes extends Pick<Manifest, 'models' | 'tableFiles' | 'files' | 'lost'> {
  writtenBytes: number
  totalBytes: number
  blobs: number
  blobsKnown: number
}

/** Share of the progress bar that the databases took. */
const STARTS_AT = 0.4
/** A file that changes while it is read is read again. */
const TRIES = 3

/** Brings bytes to a place of backups that are not there yet. The caller holds the lease. */
export async function copyBytes(
  place: BackupPlace,
  named: NamedBytes,
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
  /** of what is not there yet, for the progress bar */
  neededBytes: number
}

/** What a table's file weighs is not in its row: those are counted as they come. */
async function sizeOfNew(target: BlobStore, named: NamedBytes, plain: readonly PlainFile[]): Promise<number> {
  let sum = plain.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
  for (const { sha256, sizeBytes } of named.models)
    if ((await target.stat(sha256)) === undefined) sum += sizeBytes
  return sum
}

/** @returns the size; undefined when the bytes were lost already, which is told in the manifest */
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
  // bytes that the gateway lost since are still whole in an earlier backup
  if (known !== undefined && (found === undefined || found.sizeBytes === known.sizeBytes)) {
    count(done, known.sizeBytes, true)
    return known.sizeBytes
  }
  const bytes = await source.open(sha256)
  if (bytes === undefined) return lose(isKnownDamage ? 'damaged, and put aside' : 'not there')
  const staged = await target.stage(paced(work, bytes))
  if (staged.sha256 !== sha256) {
    await staged.drop()
    return lose(`damaged: found bytes of the digest ${staged.sha256}`)
  }
  await staged.keep()
  count(done, staged.sizeBytes, false)
  return staged.sizeBytes
}

/** Files that are kept by their path may be replaced while they are read, so what was read is what counts. */
async function copyPlain(work: Work, { path, file, isExecutable }: PlainFile): Promise<void> {
  for (let tries = 1; ; tries++) {
    work.options.signal?.throwIfAborted()
    const before = stampOf(file)
    if (before === undefined) return // removed since the list was made
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

/** Bytes as they pass, no faster than is allowed. */
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
