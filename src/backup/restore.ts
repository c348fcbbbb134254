import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isAppError, messageOf } from '../errors.js'
import { type BlobStore, createBlobStore, digestOf, isDiskFull, syncFolder } from '../files/blob-store.js'
import { type DataLayout, layoutOf, makeDirectory, RESTORE_PART } from '../files/layout.js'
import { type Databases, type Maintenance, newerSchemaFault } from '../storage/maintenance.js'
import type { Manifest, StoredBackup } from './manifest.js'
import { type BackupPlace, openBytes } from './place.js'
import { requireFree } from './space.js'
import { type Verified, verifyBackup } from './verify.js'

interface RestoreOptions {
  /** data directory to create */
  readonly layout: DataLayout
  /** true checks the backup and writes nothing */
  readonly isDryRun: boolean
  readonly maintenance: Maintenance
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

export interface RestoreResult extends Verified {
  nodeId: string
  madeAtUs: number
  /** size of the restored data directory */
  totalBytes: number
  lost: Manifest['lost']
  outside: string[]
  /** path of the restored settings file; null when the backup has none */
  configFile: string | null
}

/**
 * Entries that an empty data directory may hold: of the file system, and of the single executable, which
 * unpacks its addon.
 */
const NOT_DATA = new Set(['lost+found', 'native'])

/** Name of the restored settings file: no program reads this name by itself. */
const RESTORED_CONFIG = 'restored.edge.config.json'

/**
 * Creates a data directory from a backup. The backup is verified first; the digest of each file is compared
 * while it is written, and the rows of the written databases are counted again.
 *
 * All files are written to a folder inside the data directory and moved up at the end, `state.db` last. While
 * that folder exists no gateway starts (`makeDirectories`), so an interrupted restore cannot be mistaken for
 * a complete one.
 *
 * @throws Error in one line: the directory holds data, the backup is damaged, the disk is too small. No files
 *   are left then
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
  refuseNewer(manifest, options.maintenance.databases)
  const totalBytes = sizeOf(manifest)
  await requireFree(existingParent(layout.root), totalBytes, 0)
  const verified = await verifyBackup(place, backup, {
    maintenance: options.maintenance,
    isBytesReadLater: !options.isDryRun,
    signal,
    ...(options.isDryRun && options.onProgress !== undefined ? { onProgress: options.onProgress } : {}),
  })
  const [fault] = verified.faults
  if (fault !== undefined && !options.isDryRun)
    throw new Error(
      `the backup ${backup.name} has ${verified.faults.length} fault(s), nothing was restored: ${fault}; \`fieldgate verify\` prints all of them`,
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
  const { databases, facts } = options.maintenance
  const part = path.join(layout.root, RESTORE_PART)
  if (existsSync(part)) clear(layout, false) // of an interrupted restore
  makeDirectory(part)
  const staged = layoutOf(part)
  mkdirSync(staged.tempDir, { mode: 0o700 })
  const from = openBytes(place)
  const total = Math.max(1, sizeOf(backup.manifest))
  let done = 0
  const report = (sizeBytes: number) => {
    done += sizeBytes
    signal?.throwIfAborted()
    options.onProgress?.(done / total, 'files')
  }
  const { models, tableFiles, files } = backup.manifest
  await copyBlobs(from, createBlobStore({ dir: staged.modelsDir, tempDir: staged.tempDir }), models, report)
  await copyBlobs(
    from,
    createBlobStore({ dir: staged.filesDir, tempDir: staged.tempDir }),
    tableFiles,
    report,
  )
  for (const { path: name, sha256, sizeBytes, isExecutable } of files) {
    const bytes = await from.open(sha256)
    if (bytes === undefined) throw new Error(`the bytes ${sha256} of ${name} are missing from the backup`)
    await writeFile(bytes, path.join(part, name), isExecutable ? 0o700 : 0o600, sha256)
    report(sizeBytes)
  }
  for (const { name, sha256, sizeBytes } of backup.manifest.own) {
    const to = path.join(part, name === 'edge.config.json' ? RESTORED_CONFIG : name)
    await writeFile(createReadStream(path.join(backup.dir, name)), to, 0o600, sha256)
    report(sizeBytes)
  }
  await compareRows(part, backup.manifest, databases)
  await facts.restartUnfinishedUploads(part)
  await facts.beginEpoch(part, Date.now() * 1000)
  rmSync(staged.tempDir, { recursive: true })
  await moveUp(layout, part)
}

async function copyBlobs(
  from: BlobStore,
  to: BlobStore,
  entries: Manifest['models'],
  report: (sizeBytes: number) => void,
): Promise<void> {
  for (const [sha256, sizeBytes] of entries) {
    const bytes = await from.open(sha256)
    if (bytes === undefined) throw new Error(`the bytes ${sha256} are missing from the backup`)
    const staged = await to.stage(bytes)
    if (staged.sha256 !== sha256) {
      await staged.drop()
      throw new Error(`the backup's bytes ${sha256} are damaged: found the SHA-256 ${staged.sha256}`)
    }
    await staged.keep()
    report(sizeBytes)
  }
}

/** Writes and syncs a file, reads it back, and compares its digest. @throws Error when the digests differ */
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

/** Counts the rows of the written databases. @throws Error when a count differs from the manifest */
async function compareRows(part: string, manifest: Manifest, databases: Databases): Promise<void> {
  for (const { name, rows } of manifest.databases) {
    const found = (await databases.facts(part, name)).rows
    for (const [table, expected] of Object.entries(rows))
      if (found[table] !== expected)
        throw new Error(
          `${name}: the table ${table} has ${found[table]} rows after writing, expected ${expected}`,
        )
  }
}

/** Moves the written files to their places. `state.db` is last: a directory without it is not a gateway's. */
async function moveUp(layout: DataLayout, part: string): Promise<void> {
  const names = readdirSync(part).sort((a, b) => Number(a === 'state.db') - Number(b === 'state.db'))
  for (const name of names) renameSync(path.join(part, name), path.join(layout.root, name))
  await syncFolder(layout.root)
  rmSync(part, { recursive: true })
  await syncFolder(layout.root)
}

/** @throws Error unless the directory is missing, empty, or holds an interrupted restore */
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

/** @throws Error when a database has a newer schema than this program reads */
function refuseNewer(manifest: Manifest, { knownVersions }: Databases): void {
  for (const { name, schemaVersion } of manifest.databases) {
    const fault = newerSchemaFault(name, schemaVersion, knownVersions[name])
    if (fault !== null) throw new Error(fault)
  }
}

/** Removes what this restore wrote. It began in an empty directory, so every other entry is its own. */
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

/** Replaces errors of the disk, of permissions and of a cancelled restore by errors that say what to do. */
function translate(error: unknown, root: string): unknown {
  if (isDiskFull(error) || (isAppError(error) && error.errorName === 'DISK_FULL'))
    return new Error(
      `the disk of ${root} is full: nothing was restored; free some space, or choose another --data-dir`,
      {
        cause: error,
      },
    )
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return new Error(`${root} cannot be written: ${messageOf(error)}; choose another --data-dir`, {
      cause: error,
    })
  return error instanceof Error && error.name === 'AbortError'
    ? new Error('stopped; nothing was restored', { cause: error })
    : error
}
