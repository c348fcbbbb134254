import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isAppError, messageOf } from '../errors.js'
import { type BlobStore, createBlobStore, digestOf, isDiskFull, syncFolder } from '../files/blob-store.js'
import { type DataLayout, layoutOf, makeDirectory, RESTORE_PART } from '../files/layout.js'
import { readDatabaseFacts } from '../storage/sqlite/connection/database-facts.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { restorableFault } from '../storage/sqlite/connection/versions.js'
import type { Manifest, StoredBackup } from './manifest.js'
import { type BackupPlace, openBytes } from './place.js'
import { requireFree } from './space.js'
import { type Verified, verifyBackup } from './verify.js'

export interface RestoreOptions {
  /** where the gateway's data goes */
  readonly layout: DataLayout
  /** looks at everything and writes nothing */
  readonly isDryRun: boolean
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

export interface RestoreResult extends Verified {
  nodeId: string
  madeAtUs: number
  /** what a restore writes */
  totalBytes: number
  lost: Manifest['lost']
  outside: string[]
  /** where the settings file of that gateway lies now; null when the backup has none */
  configFile: string | null
}

/** What may lie in an empty directory: of the file system, and of the single executable, which unpacks its addon there. */
const NOT_DATA = new Set(['lost+found', 'native'])

/** Name that the settings file gets: nothing reads it there by itself. */
export const RESTORED_CONFIG = 'restored.edge.config.json'

/**
 * Makes a data directory out of a backup. The backup is read through first; every byte is compared with its digest while
 * it is written, and the rows are counted again in what was written.
 *
 * Everything is made in a folder of the data directory and moved up at the end, `state.db` last. While that folder is
 * there no gateway starts (`makeDirectories`), so a restore that was cut off cannot be taken for a whole one.
 *
 * @throws Error in one line: the directory holds data, the backup is damaged, the disk is too small. Nothing stays then
 */
export async function restoreBackup(
  place: BackupPlace,
  backup: StoredBackup,
  options: RestoreOptions,
): Promise<RestoreResult> {
  const { layout, signal } = options
  const { manifest } = backup
  const isNew = !existsSync(layout.root)
  refuseData(layout)
  refuseNewer(manifest)
  const totalBytes = sizeOf(manifest)
  await requireFree(existingParent(layout.root), totalBytes, 0)
  const verified = await verifyBackup(place, backup, {
    isBytesReadLater: !options.isDryRun,
    signal,
    ...(options.isDryRun && options.onProgress !== undefined ? { onProgress: options.onProgress } : {}),
  })
  const [fault] = verified.faults
  if (fault !== undefined && !options.isDryRun)
    throw new Error(
      `the backup ${backup.name} has ${verified.faults.length} fault(s), nothing was restored: ${fault}; \`fieldgate verify\` prints all`,
    )
  const { nodeId, madeAtUs, lost, outside } = manifest
  const hasConfig = manifest.own.some(({ name }) => name === 'edge.config.json')
  const configFile = hasConfig ? path.join(layout.root, RESTORED_CONFIG) : null
  const result = { ...verified, nodeId, madeAtUs, totalBytes, lost, outside, configFile }
  if (options.isDryRun) return result
  try {
    await write(place, backup, options)
    return result
  } catch (error) {
    clear(layout, isNew)
    throw translate(error, layout.root)
  }
}

async function write(place: BackupPlace, backup: StoredBackup, options: RestoreOptions): Promise<void> {
  const { layout, signal } = options
  const part = path.join(layout.root, RESTORE_PART)
  if (existsSync(part)) clear(layout, false) // what a restore that was cut off left
  makeDirectory(part)
  const staged = layoutOf(part)
  mkdirSync(staged.tempDir, { mode: 0o700 })
  const from = openBytes(place)
  const total = Math.max(1, sizeOf(backup.manifest))
  let done = 0
  const tell = (sizeBytes: number) => {
    done += sizeBytes
    signal?.throwIfAborted()
    options.onProgress?.(done / total, 'files')
  }
  const { models, tableFiles, files } = backup.manifest
  await copyBlobs(from, createBlobStore({ dir: staged.modelsDir, tempDir: staged.tempDir }), models, tell)
  await copyBlobs(from, createBlobStore({ dir: staged.filesDir, tempDir: staged.tempDir }), tableFiles, tell)
  for (const { path: name, sha256, sizeBytes, isExecutable } of files) {
    const bytes = await from.open(sha256)
    if (bytes === undefined) throw new Error(`the bytes ${sha256} of ${name} are gone`)
    await writeFile(bytes, path.join(part, name), isExecutable ? 0o700 : 0o600, sha256)
    tell(sizeBytes)
  }
  for (const { name, sha256, sizeBytes } of backup.manifest.own) {
    const to = path.join(part, name === 'edge.config.json' ? RESTORED_CONFIG : name)
    await writeFile(createReadStream(path.join(backup.dir, name)), to, 0o600, sha256)
    tell(sizeBytes)
  }
  proveRows(part, backup.manifest)
  forgetUnfinished(staged.stateDb)
  rmSync(staged.tempDir, { recursive: true })
  await moveUp(layout, part)
}

async function copyBlobs(
  from: BlobStore,
  to: BlobStore,
  entries: Manifest['models'],
  tell: (sizeBytes: number) => void,
): Promise<void> {
  for (const [sha256, sizeBytes] of entries) {
    const bytes = await from.open(sha256)
    if (bytes === undefined) throw new Error(`the bytes ${sha256} are gone from the backup`)
    const staged = await to.stage(bytes)
    if (staged.sha256 !== sha256) {
      await staged.drop()
      throw new Error(`the backup's bytes ${sha256} are damaged: found the SHA-256 ${staged.sha256}`)
    }
    await staged.keep()
    tell(sizeBytes)
  }
}

/** Writes one file, synced, and reads back what is there. */
async function writeFile(
  source: AsyncIterable<Uint8Array>,
  to: string,
  mode: number,
  sha256: string,
): Promise<void> {
  mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 })
  const handle = await open(to, 'wx', mode)
  await pipeline(source, handle.createWriteStream({ flush: true }))
  const found = await digestOf(createReadStream(to))
  if (found.sha256 !== sha256)
    throw new Error(`${to}: found the SHA-256 ${found.sha256} after writing, expected ${sha256}`)
}

/** The rows of what was written, counted again. */
function proveRows(part: string, manifest: Manifest): void {
  for (const { name, rows } of manifest.databases) {
    const found = readDatabaseFacts(path.join(part, name)).rows
    for (const [table, expected] of Object.entries(rows))
      if (found[table] !== expected)
        throw new Error(
          `${name}: the table ${table} has ${found[table]} rows after writing, expected ${expected}`,
        )
  }
}

/** Bytes of uploads that were not whole are in no backup: their senders begin anew. */
function forgetUnfinished(stateDb: string): void {
  const db = openPlain(stateDb, false)
  try {
    db.prepare('UPDATE upload SET offset_bytes = 0 WHERE model_id IS NULL').run()
  } finally {
    db.close()
  }
}

async function moveUp(layout: DataLayout, part: string): Promise<void> {
  const names = readdirSync(part).sort((a, b) => Number(a === 'state.db') - Number(b === 'state.db'))
  for (const name of names) renameSync(path.join(part, name), path.join(layout.root, name))
  await syncFolder(layout.root)
  rmSync(part, { recursive: true })
  await syncFolder(layout.root)
}

/** @throws Error unless the directory is empty, not there, or holds what a cut-off restore left */
function refuseData({ root }: DataLayout): void {
  if (!existsSync(root)) return
  let names: string[]
  try {
    names = readdirSync(root).filter((name) => !NOT_DATA.has(name))
  } catch (error) {
    throw new Error(`${root} cannot be read: ${messageOf(error)}; choose another --data-dir`, {
      cause: error,
    })
  }
  if (names.length === 0 || names.includes(RESTORE_PART)) return
  throw new Error(
    `${root} is not empty (${names.slice(0, 4).join(', ')}): a restore overwrites nothing; move it away, or choose another --data-dir`,
  )
}

function refuseNewer({ databases }: Manifest): void {
  for (const { name, schemaVersion } of databases) {
    const fault = restorableFault(name, schemaVersion)
    if (fault !== null) throw new Error(fault)
  }
}

/** A restore begins in an empty directory: all that is there now is its own. */
function clear({ root }: DataLayout, isNew: boolean): void {
  if (!existsSync(root)) return
  if (isNew) {
    rmSync(root, { recursive: true, force: true })
    return
  }
  for (const name of readdirSync(root))
    if (!NOT_DATA.has(name) && name !== RESTORE_PART)
      rmSync(path.join(root, name), { recursive: true, force: true })
  rmSync(path.join(root, RESTORE_PART), { recursive: true, force: true })
}

function sizeOf({ own, models, tableFiles, files }: Manifest): number {
  const sum = (sizes: readonly number[]) => sizes.reduce((total, sizeBytes) => total + sizeBytes, 0)
  return (
    sum(own.map((one) => one.sizeBytes)) +
    sum(models.map(([, sizeBytes]) => sizeBytes)) +
    sum(tableFiles.map(([, sizeBytes]) => sizeBytes)) +
    sum(files.map((one) => one.sizeBytes))
  )
}

function existingParent(dir: string): string {
  return existsSync(dir) || path.dirname(dir) === dir ? dir : existingParent(path.dirname(dir))
}

function translate(error: unknown, root: string): unknown {
  if (isDiskFull(error) || (isAppError(error) && error.errorName === 'DISK_FULL'))
    return new Error(
      `the disk of ${root} is full: nothing was restored; make room, or choose another --data-dir`,
      {
        cause: error,
      },
    )
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return new Error(`${root} cannot be written: ${messageOf(error)}; choose another --data-dir`, {
      cause: error,
    })
  return error instanceof Error && error.name === 'AbortError'
    ? new Error('stopped; nothing was restored', { cause: error })
    : error
}
