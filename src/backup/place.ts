import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'
import { type BlobStore, createBlobStore } from '../files/blob-store.js'
import { makeDirectory } from '../files/layout.js'
import type { DirectoryLock, DirectoryLocks } from '../storage/maintenance.js'

/**
 * Directory of backups: one folder per backup, and the bytes that all of them share, named by digest. The
 * name of an incomplete folder ends in `.part`; it is renamed when all of its files, and all bytes it refers
 * to, are on disk.
 */
export interface BackupPlace {
  readonly root: string
  readonly backupsDir: string
  readonly bytesDir: string
  readonly tempDir: string
}

/** Ending of the names of incomplete folders. */
export const PART = '.part'

/** Paths of a directory of backups; nothing is created. */
export function placeOf(dir: string): BackupPlace {
  const root = path.resolve(dir)
  return {
    root,
    backupsDir: path.join(root, 'backups'),
    bytesDir: path.join(root, 'bytes'),
    tempDir: path.join(root, 'tmp'),
  }
}

/**
 * Creates missing folders, locks the place for one backup, and removes what an interrupted backup left.
 *
 * @throws Error in one line: the place cannot be created or written, holds other files, or is locked
 */
export async function openPlace(place: BackupPlace, locks: DirectoryLocks): Promise<DirectoryLock> {
  refuseForeign(place)
  try {
    for (const dir of [place.backupsDir, place.bytesDir, place.tempDir]) makeDirectory(dir)
  } catch (error) {
    throw unwritable(place, error)
  }
  const lock = await lockForWriting(place, locks)
  for (const name of readdirSync(place.tempDir)) removeAll(path.join(place.tempDir, name))
  for (const name of readdirSync(place.backupsDir))
    if (name.endsWith(PART)) removeAll(path.join(place.backupsDir, name))
  return lock
}

async function lockForWriting(place: BackupPlace, locks: DirectoryLocks): Promise<DirectoryLock> {
  const attempt = await locks.lock(place.root)
  if ('lock' in attempt) return attempt.lock
  throw attempt.fault === 'held' ? lockedError(place, attempt.cause) : unwritable(place, attempt.cause)
}

/**
 * Keeps other processes from writing backups while a place is read. Where the place is read-only no lock is
 * needed.
 *
 * @throws Error in one line when another process holds the lock
 */
export async function lockForReading(place: BackupPlace, locks: DirectoryLocks): Promise<DirectoryLock> {
  const attempt = await locks.lock(place.root)
  if ('lock' in attempt) return attempt.lock
  if (attempt.fault === 'unwritable') return { release: async () => undefined }
  throw lockedError(place, attempt.cause)
}

/** Opens the bytes of a place. Free space is checked by the callers, once for all bytes. */
export function openBytes({ bytesDir: dir, tempDir }: BackupPlace): BlobStore {
  return createBlobStore({ dir, tempDir })
}

function lockedError({ root }: BackupPlace, cause: unknown): Error {
  return new Error(`another program uses the backups in ${root}: try again when it has ended`, { cause })
}

function unwritable({ root }: BackupPlace, cause: unknown): Error {
  return new Error(`${root} cannot be written: ${messageOf(cause)}; choose another directory`, { cause })
}

/**
 * A mistyped directory must not be filled with folders.
 *
 * @throws Error when `root` holds files that are no backups
 */
function refuseForeign({ root, backupsDir }: BackupPlace): void {
  const found = statSync(root, { throwIfNoEntry: false })
  if (found === undefined || existsSync(backupsDir)) return
  if (!found.isDirectory()) throw new Error(`${root} is a file: expected a directory`)
  const names = readdirSync(root).filter((name) => name !== 'lost+found')
  if (names.length > 0)
    throw new Error(
      `${root} holds other files (${names.slice(0, 3).join(', ')}): expected an empty directory, or one with backups`,
    )
}

function removeAll(file: string): void {
  rmSync(file, { recursive: true, force: true })
}
