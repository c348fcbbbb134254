import { createReadStream, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { copyFile, open, rename } from 'node:fs/promises'
import path from 'node:path'
import { isAppError } from '../errors.js'
import { digestOf, isDiskFull, syncFolder } from '../files/blob-store.js'
import type { DataLayout } from '../files/layout.js'
import { readDatabaseFacts } from '../storage/sqlite/connection/database-facts.js'
import { createSweepLease } from '../storage/sqlite/connection/lease.js'
import { copyDatabases, isReadOnlyDisk } from '../storage/sqlite/connection/snapshot.js'
import { copyBytes } from './copy-bytes.js'
import { backupName, listBackups, type Manifest, type OwnName, writeManifest } from './manifest.js'
import { readStateNames, readTableFileNames } from './names.js'
import { type BackupPlace, openPlace, PART, placeOf } from './place.js'
import { retain } from './retain.js'
import { freeBytesOf, requireFree } from './space.js'

export interface BackupOptions {
  /** the gateway's data directory */
  readonly layout: DataLayout
  /** where backups are kept */
  readonly dir: string
  /** the settings file, null when there is none */
  readonly configFile: string | null
  /** files that the settings name outside the data directory: told, not kept */
  readonly outside: readonly string[]
  /** of this program */
  readonly version: string
  readonly nowUs: number
  readonly isClockTrusted: boolean
  /** backups that stay, this one counted; 0 keeps all */
  readonly keep: number
  /** bytes that must stay free, where backups lie on the gateway's own disk */
  readonly reserveBytes: number
  /** how fast is read, bytes a second; 0 for no limit */
  readonly bytesPerSecond: number
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

export interface BackupResult {
  name: string
  dir: string
  nodeId: string
  /** copied this time: databases and bytes that were not there */
  writtenBytes: number
  /** what a restore would write */
  totalBytes: number
  /** files of bytes that this backup names, and how many of them were there already */
  blobs: number
  blobsKnown: number
  /** bytes that were lost or damaged in the data directory already */
  lost: Manifest['lost']
  /** names of backups that went, because only so many are kept */
  removed: string[]
  /** why bytes that nothing names any more were left in place, null when they were not */
  retentionFault: string | null
}

/**
 * Makes a backup beside a running gateway, or without one.
 *
 * The order is rows first, then the bytes they name. Both databases are copied as they were at one instant
 * (`copyDatabases`). Bytes lie under their digest and never change, and are on disk before their row is, so every byte
 * that the copied rows name is there at that instant. They can only go, and nobody may remove any while the lease is held:
 * it is taken before the instant, so a removal that began earlier is over, and rows of that instant no longer named what
 * it took. Bytes first would not do: what is put between the two would be named by a row and missing.
 *
 * A backup has its name only when everything it needs is on disk. What is cut off before is a folder that ends in
 * `.part`, and bytes that the next backup finds there.
 *
 * @throws Error in one line that says what is in the way; nothing half is left then
 */
export async function makeBackup(options: BackupOptions): Promise<BackupResult> {
  const { layout, dir } = options
  if (!existsSync(layout.stateDb)) {
    throw new Error(`${layout.root} holds no gateway's data: give the --data-dir of a gateway`)
  }
  const place = placeOf(dir)
  refuseInside(place, layout)
  const lock = openPlace(place)
  try {
    return await makeWhole(place, options)
  } catch (error) {
    throw await translate(error, place)
  } finally {
    lock.release()
  }
}

async function makeWhole(place: BackupPlace, options: BackupOptions): Promise<BackupResult> {
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
        `${place.root} holds backups of the node ${last.manifest.nodeId}, this is ${manifest.nodeId}: choose another directory`,
      )
    await writeManifest(part, manifest)
    await syncFolder(part)
    const whole = path.join(place.backupsDir, name)
    await rename(part, whole)
    await syncFolder(place.backupsDir)
    result = { name, dir: whole, nodeId: manifest.nodeId, lost: manifest.lost, ...copied }
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

async function fill(
  part: string,
  place: BackupPlace,
  options: BackupOptions,
  sequence: number,
): Promise<Filled> {
  const { layout, signal } = options
  const databases = (['state.db', 'data.db'] as const).filter((name) =>
    existsSync(path.join(layout.root, name)),
  )
  // where nothing can be written nothing can be removed either
  const isStill = isReadOnlyDisk(layout.stateDb)
  const giveBack = isStill ? async () => undefined : await createSweepLease(layout.leaseDb).keep()
  try {
    await requireFree(place.root, sizeOfDatabases(layout), reserveOf(options))
    const pairs = databases.map((name) => ({ from: path.join(layout.root, name), to: path.join(part, name) }))
    await copyDatabases(pairs, {
      signal,
      bytesPerSecond: options.bytesPerSecond,
      onProgress: (done, total) =>
        options.onProgress?.((done / Math.max(1, total)) * DATABASE_SHARE, 'databases'),
    })
    const { nodeId, models } = readStateNames(path.join(part, 'state.db'))
    const tableFiles = databases.includes('data.db') ? readTableFileNames(path.join(part, 'data.db')) : []
    const bytes = await copyBytes(
      place,
      { models, tableFiles },
      { ...options, reserveBytes: reserveOf(options) },
    )
    await giveBack()
    const own = await keepOwn(part, databases, options)
    const ownBytes = own.reduce((sum, one) => sum + one.sizeBytes, 0)
    return {
      manifest: {
        format: 1,
        sequence,
        madeAtUs: options.nowUs,
        isClockTrusted: options.isClockTrusted,
        nodeId,
        version: options.version,
        own,
        databases: databases.map((name) => ({ name, ...readDatabaseFacts(path.join(part, name)) })),
        ...{ models: bytes.models, tableFiles: bytes.tableFiles, files: bytes.files, lost: bytes.lost },
        outside: [...options.outside],
      },
      writtenBytes: bytes.writtenBytes + ownBytes,
      totalBytes: bytes.totalBytes + ownBytes,
      blobs: bytes.blobs,
      blobsKnown: bytes.blobsKnown,
    }
  } finally {
    await giveBack()
  }
}

/** What the progress bar gives to the databases. */
const DATABASE_SHARE = 0.4

/** The copied databases, the key file and the settings, each with its digest. */
async function keepOwn(
  part: string,
  databases: readonly ('state.db' | 'data.db')[],
  { layout, configFile, signal }: BackupOptions,
): Promise<Manifest['own']> {
  const copies: [from: string | null, name: OwnName][] = [
    [layout.keyFile, 'secret.key'],
    [configFile, 'edge.config.json'],
  ]
  const names: OwnName[] = [...databases]
  for (const [from, name] of copies) {
    if (from === null || !existsSync(from)) continue
    const to = path.join(part, name)
    await copyFile(from, to)
    const handle = await open(to, 'r+')
    await handle.chmod(0o600).catch(() => undefined) // a FAT disk has no such rights
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

/** Backups in the data directory would be swept, or copied into themselves. */
function refuseInside({ root }: BackupPlace, layout: DataLayout): void {
  const relative = path.relative(layout.root, root)
  const isInside = relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative))
  if (isInside)
    throw new Error(
      `${root} lies in the data directory ${layout.root}: choose a directory elsewhere, best on another disk`,
    )
}

function sizeOfDatabases({ stateDb, dataDb }: DataLayout): number {
  return [stateDb, dataDb, `${stateDb}-wal`, `${dataDb}-wal`].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

/** On another disk nobody needs the reserve. */
function reserveOf({ layout, dir, reserveBytes }: BackupOptions): number {
  return statSync(dir).dev === statSync(layout.root).dev ? reserveBytes : 0
}

async function translate(error: unknown, place: BackupPlace): Promise<unknown> {
  const isFull = isDiskFull(error) || (isAppError(error) && error.errorName === 'DISK_FULL')
  if (isFull) {
    const freeBytes = await freeBytesOf(place.root)
    return new Error(
      `the disk of ${place.root} became full: no backup was made (${freeBytes} bytes are free without it); make room, or choose another directory`,
      { cause: error },
    )
  }
  const isStopped =
    (isAppError(error) && error.errorName === 'CANCELLED') ||
    (error instanceof Error && error.name === 'AbortError')
  return isStopped ? new Error('stopped; no backup was made', { cause: error }) : error
}
