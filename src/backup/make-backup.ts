import { createReadStream, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { copyFile, open, rename } from 'node:fs/promises'
import path from 'node:path'
import { isAppError, isDamage, messageOf } from '../errors.js'
import { digestOf, isDiskFull, syncFolder } from '../files/blob-store.js'
import type { DataLayout } from '../files/layout.js'
import type { DatabaseName, Databases, Maintenance } from '../storage/maintenance.js'
import { copyBytes } from './copy-bytes.js'
import { backupName, listBackups, type Manifest, type OwnName, writeManifest } from './manifest.js'
import { readStoredNames } from './names.js'
import { type BackupPlace, openPlace, PART, placeOf } from './place.js'
import { damagedCitations, damagedText, proveDatabases } from './prove.js'
import { retain } from './retain.js'
import { freeBytesOf, requireFree } from './space.js'
import { proveBytes } from './verify.js'

/** Backup to make, as it can be sent to another thread. */
export interface BackupJob {
  /** the gateway's data directory */
  readonly layout: DataLayout
  /** directory of backups */
  readonly dir: string
  /** the settings file, null when there is none */
  readonly configFile: string | null
  /** files outside the data directory that settings refer to: listed in the manifest, not copied */
  readonly outside: readonly string[]
  /** of this program */
  readonly version: string
  readonly nowUs: number
  readonly isClockTrusted: boolean
  /** number of backups to keep, this one included; 0 keeps all */
  readonly keep: number
  /** bytes that must stay free where backups are on the gateway's own disk */
  readonly reserveBytes: number
  /** reading speed; 0 for no limit */
  readonly bytesPerSecond: number
}

interface BackupOptions extends BackupJob {
  readonly maintenance: Maintenance
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

export interface BackupResult {
  name: string
  dir: string
  nodeId: string
  /** databases, and bytes that the place did not hold before */
  writtenBytes: number
  /** size of a restored data directory */
  totalBytes: number
  /** number of blobs that this backup refers to */
  blobs: number
  /** blobs that the place held before */
  blobsKnown: number
  /** bytes that rows refer to and that the data directory had lost before the backup */
  lost: Manifest['lost']
  /** long forms of citations whose rows were damaged before the backup */
  damagedCitations: string[]
  /** names of backups that were removed because of `keep` */
  removed: string[]
  /** why bytes that no backup refers to were not removed, null when they were */
  retentionFault: string | null
}

/**
 * Makes a backup, whether a gateway is running or not.
 *
 * Rows come first, then the bytes they refer to. Both databases are copied as they are at one instant. Blobs
 * are named by digest, never change, and are on disk before their row is, so all bytes that the copied rows
 * refer to exist at that instant. They can only be removed, and the lease prevents that: it is taken before
 * the instant, so a removal that began earlier has ended, and rows of that instant no longer refer to what it
 * removed. Bytes first would not work: a model added between the two steps would have a row and no bytes.
 *
 * A backup gets its name only when everything it needs is on disk and was checked: structure and indexes of
 * the copied databases, the rows of citations, the presence of all bytes. Only then older ones are removed. An interrupted backup leaves a folder
 * ending in `.part`, which the next backup removes, and bytes, which the next backup uses.
 *
 * @throws Error in one line that says what failed; no incomplete backup is left then
 */
export async function makeBackup(options: BackupOptions): Promise<BackupResult> {
  const { layout, dir } = options
  const [lost] = await options.maintenance.databases.lost(layout.root)
  if (lost !== undefined) throw new Error(lost)
  if (!existsSync(layout.stateDb)) {
    throw new Error(`${layout.root} is not the data directory of a gateway: give its --data-dir`)
  }
  const place = placeOf(dir)
  refuseInside(place, layout)
  const lock = await openPlace(place, options.maintenance.locks)
  try {
    return await makeNext(place, options)
  } catch (error) {
    throw await translate(error, place, layout)
  } finally {
    await lock.release()
  }
}

async function makeNext(place: BackupPlace, options: BackupOptions): Promise<BackupResult> {
  const { backups } = listBackups(place)
  const sequence = 1 + Math.max(0, ...backups.map(({ manifest }) => manifest.sequence))
  const name = backupName(sequence, options.nowUs)
  const part = path.join(place.backupsDir, `${name}${PART}`)
  mkdirSync(part, { mode: 0o700 })
  let result: Omit<BackupResult, 'removed' | 'retentionFault'>
  try {
    const { manifest, ...copied } = await fill(part, place, options, sequence)
    const [last] = backups
    if (last !== undefined && last.manifest.nodeId !== manifest.nodeId)
      throw new Error(
        `${place.root} holds backups of the node ${last.manifest.nodeId}, this node is ${manifest.nodeId}: choose another directory`,
      )
    await proveBytes(place, manifest, options.signal)
    await writeManifest(part, manifest)
    await syncFolder(part)
    const whole = path.join(place.backupsDir, name)
    await rename(part, whole)
    await syncFolder(place.backupsDir)
    const { nodeId, lost, damagedCitations = [] } = manifest
    result = { name, dir: whole, nodeId, lost, damagedCitations, ...copied }
  } catch (error) {
    rmSync(part, { recursive: true, force: true })
    throw error
  }
  return { ...result, ...(await retain(place, options.keep)) }
}

interface Filled {
  manifest: Manifest
  writtenBytes: number
  totalBytes: number
  blobs: number
  blobsKnown: number
}

/** Share of the progress bar that copying the databases takes. */
const DATABASE_SHARE = 0.4

/** Fills the folder of a backup, all but its manifest. */
async function fill(
  part: string,
  place: BackupPlace,
  options: BackupOptions,
  sequence: number,
): Promise<Filled> {
  const { nowUs, isClockTrusted, version, outside } = options
  const { databases } = options.maintenance
  const copied = await copyRowsAndBytes(part, place, options, sequence)
  const damaged = await damagedCitations(part, options.maintenance, options.signal)
  const names = await databases.list(part)
  const own = await keepOwn(part, names, options)
  const ownBytes = own.reduce((sum, one) => sum + one.sizeBytes, 0)
  const facts = []
  for (const name of names) facts.push({ name, ...(await databases.facts(part, name)) })
  const { nodeId, models, tableFiles, files, lost, blobs, blobsKnown } = copied
  return {
    manifest: {
      format: 1,
      sequence,
      madeAtUs: nowUs,
      isClockTrusted,
      nodeId,
      version,
      own,
      databases: facts,
      models,
      tableFiles,
      files,
      lost,
      ...(damaged.length > 0 ? { damagedCitations: damaged } : {}),
      outside: [...outside],
    },
    writtenBytes: copied.writtenBytes + ownBytes,
    totalBytes: copied.totalBytes + ownBytes,
    blobs,
    blobsKnown,
  }
}

/**
 * Copies the databases, checks the copies, then copies the bytes that their rows refer to; no bytes are
 * removed meanwhile.
 */
async function copyRowsAndBytes(part: string, place: BackupPlace, options: BackupOptions, sequence: number) {
  const { layout, maintenance, signal, bytesPerSecond, onProgress } = options
  const { databases, locks } = maintenance
  const { root } = layout
  const reserveBytes = reserveOf(options)
  // a read-only disk allows no lock file, and nothing can be removed from it
  const isReadOnly = await databases.isReadOnlyDisk(root)
  const release = isReadOnly ? async () => undefined : await locks.sweepLease(root).keep()
  try {
    const names = await databases.list(root)
    await requireFree(place.root, await sizeOfDatabases(root, names, databases), reserveBytes)
    await databases.copy(root, names, part, {
      signal,
      bytesPerSecond,
      onProgress: (done, total) => onProgress?.((done / Math.max(1, total)) * DATABASE_SHARE, 'databases'),
    })
    await proveDatabases(part, root, names, maintenance)
    const named = await readStoredNames(part, maintenance)
    const copied = await copyBytes(place, named, { ...options, reserveBytes, sequence })
    return { nodeId: named.nodeId, ...copied }
  } finally {
    await release()
  }
}

/**
 * Copies the key file and the settings beside the copied databases.
 *
 * @returns all of them with their digests
 */
async function keepOwn(
  part: string,
  databases: readonly DatabaseName[],
  { layout, configFile, signal }: BackupOptions,
): Promise<Manifest['own']> {
  const copies: [from: string | null, name: OwnName][] = [
    // a key that was put elsewhere was put apart from the data: a backup must not bring them together
    [path.dirname(layout.keyFile) === layout.root ? layout.keyFile : null, 'secret.key'],
    [configFile, 'edge.config.json'],
  ]
  const names: OwnName[] = [...databases]
  for (const [from, name] of copies) {
    if (from === null || !existsSync(from)) continue
    const to = path.join(part, name)
    await copyFile(from, to)
    const handle = await open(to, 'r+')
    await handle.chmod(0o600).catch(() => undefined) // a FAT file system has no permissions
    await handle.sync()
    await handle.close()
    names.push(name)
  }
  const own = []
  for (const name of names) {
    signal?.throwIfAborted()
    const { sha256, sizeBytes } = await digestOf(createReadStream(path.join(part, name)))
    own.push({ name, sha256, sizeBytes })
  }
  return own
}

/** Backups inside the data directory would be removed as unknown files, or copied into themselves. */
function refuseInside({ root }: BackupPlace, layout: DataLayout): void {
  const relative = path.relative(layout.root, root)
  const isInside = relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative))
  if (isInside)
    throw new Error(
      `${root} is inside the data directory ${layout.root}: choose a directory outside it, preferably on another disk`,
    )
}

async function sizeOfDatabases(
  root: string,
  names: readonly DatabaseName[],
  databases: Databases,
): Promise<number> {
  let sum = 0
  for (const name of names) {
    const { mainBytes, logBytes } = await databases.sizes(root, name)
    sum += mainBytes + logBytes
  }
  return sum
}

/** The reserve applies only where backups share the gateway's disk. */
function reserveOf({ layout, dir, reserveBytes }: BackupOptions): number {
  return statSync(dir).dev === statSync(layout.root).dev ? reserveBytes : 0
}

/**
 * Replaces errors of a full disk and of a cancelled backup by errors that say so; others stay as they are.
 */
async function translate(error: unknown, place: BackupPlace, layout: DataLayout): Promise<unknown> {
  if (isDamage(error))
    return new Error(damagedText(`a database of ${layout.root}`, [messageOf(error)]), { cause: error })
  const isFull = isDiskFull(error) || (isAppError(error) && error.errorName === 'DISK_FULL')
  if (isFull) {
    const freeBytes = await freeBytesOf(place.root)
    return new Error(
      `the disk of ${place.root} is full: no backup was made (found ${freeBytes} bytes free); free some space, or choose another directory`,
      { cause: error },
    )
  }
  const isStopped =
    (isAppError(error) && error.errorName === 'CANCELLED') ||
    (error instanceof Error && error.name === 'AbortError')
  return isStopped ? new Error('stopped; no backup was made', { cause: error }) : error
}
