import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'
import { type BlobStore, createBlobStore } from '../files/blob-store.js'
import { makeDirectory } from '../files/layout.js'
import { type DirectoryLock, lockDirectory } from '../storage/sqlite/connection/lock.js'

/**
 * Where backups lie: a folder for each, and the bytes that all of them share, by digest. A folder that is not whole ends
 * in `.part`, and is renamed when everything in it, and everything it names, is on disk.
 */
export interface BackupPlace {
  readonly root: string
  readonly backupsDir: string
  readonly bytesDir: string
  readonly tempDir: string
  readonly lockDb: string
}

export const PART = '.part'

export function placeOf(dir: string): BackupPlace {
  const root = path.resolve(dir)
  return {
    root,
    backupsDir: path.join(root, 'backups'),
    bytesDir: path.join(root, 'bytes'),
    tempDir: path.join(root, 'tmp'),
    lockDb: path.join(root, 'lock.db'),
  }
}

/**
 * Makes the folders where they are missing, takes the place for one backup, and removes what a cut-off one left.
 *
 * @throws Error in one line: it cannot be made or written, it holds something else, or a backup is being made there
 */
export function openPlace(place: BackupPlace): DirectoryLock {
  refuseForeign(place)
  try {
    for (const dir of [place.backupsDir, place.bytesDir, place.tempDir]) makeDirectory(dir)
  } catch (error) {
    throw new Error(`${place.root} cannot be written: ${messageOf(error)}; choose another directory`, {
      cause: error,
    })
  }
  const lock = lockToWrite(place)
  for (const name of readdirSync(place.tempDir)) removeAll(path.join(place.tempDir, name))
  for (const name of readdirSync(place.backupsDir))
    if (name.endsWith(PART)) removeAll(path.join(place.backupsDir, name))
  return lock
}

function lockToWrite(place: BackupPlace): DirectoryLock {
  try {
    return lockPlace(place)
  } catch (error) {
    if (!isUnwritable(error)) throw error
    throw new Error(`${place.root} cannot be written: ${messageOf(error)}; choose another directory`, {
      cause: error,
    })
  }
}

/** Keeps backups and their retention out while a place is read; nothing where it cannot be written anyway. */
export function lockForReading(place: BackupPlace): DirectoryLock {
  try {
    return lockPlace(place)
  } catch (error) {
    if (isUnwritable(error)) return { release: () => undefined }
    throw error
  }
}

function isUnwritable(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return /^(?:EROFS|EACCES|EPERM|SQLITE_READONLY.*|SQLITE_CANTOPEN.*)$/.test(code)
}

/** The bytes of a place. @param requireSpace asked before bytes are written */
export function openBytes(place: BackupPlace, requireSpace?: (bytes: number) => Promise<void>): BlobStore {
  const { bytesDir: dir, tempDir } = place
  return createBlobStore({ dir, tempDir, ...(requireSpace === undefined ? {} : { requireSpace }) })
}

function lockPlace({ root, lockDb }: BackupPlace): DirectoryLock {
  return lockDirectory(lockDb, `another program works on the backups in ${root}: try again when it has ended`)
}

/** A mistyped directory must not be filled with folders, and a gateway's own must not hold its backup by that name. */
function refuseForeign({ root, backupsDir }: BackupPlace): void {
  const found = statSync(root, { throwIfNoEntry: false })
  if (found === undefined || existsSync(backupsDir)) return
  if (!found.isDirectory()) throw new Error(`${root} is a file: expected a directory`)
  const names = readdirSync(root).filter((name) => name !== 'lost+found')
  if (names.length > 0)
    throw new Error(
      `${root} holds other things (${names.slice(0, 3).join(', ')}): expected an empty directory, or one with backups`,
    )
}

function removeAll(file: string): void {
  rmSync(file, { recursive: true, force: true })
}
