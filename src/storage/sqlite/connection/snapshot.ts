import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
} from 'node:fs'
import Database from 'better-sqlite3'
import { AppError } from '../../../errors.js'
import { type Db, retryBusy } from './database.js'
import { nativeBinding } from './native.js'

/** A database and the file that its copy goes to. */
export interface SnapshotPair {
  readonly from: string
  readonly to: string
}

export interface SnapshotOptions {
  signal?: AbortSignal | undefined
  /** how fast is read, bytes a second; 0 for no limit. Above it the thread sleeps, so only on one of its own */
  bytesPerSecond: number
  onProgress?(doneBytes: number, totalBytes: number): void
}

/** Most pages of one step: 1 MiB at SQLite's usual page size. */
const STEP_PAGES = 256
/** Steps a second where reading is held back: between two of them the thread sleeps, and can be told to end. */
const STEPS_PER_S = 10
/** Written bytes before they are made to go to disk: a gateway beside it must not wait for gigabytes at its next commit. */
const SYNC_BYTES = 8 * 1024 * 1024
/** Longest wait for the writers of one file: a bulk load is one transaction. */
const WRITER_WAIT_MS = 30 * 60_000

/**
 * Copies databases as they were at one instant, while other connections, of this or of other processes, go on writing.
 *
 * For an instant the write locks of all files are held: then no commit lies between the first database's snapshot and
 * the last one's. The locks go as soon as a read transaction is open on each file, a few milliseconds later; WAL keeps
 * what the readers see while writers go on. The copies are plain files without a log beside them, synced.
 *
 * The log of a database cannot be emptied while it is copied: it grows by what is written meanwhile.
 *
 * On a disk that turned read-only, as worn ones do, SQLite cannot open them at all; there nobody writes, and the files are
 * copied with their logs.
 *
 * @throws AppError DISK_FULL, CANCELLED, BUSY
 */
export async function copyDatabases(pairs: readonly SnapshotPair[], options: SnapshotOptions): Promise<void> {
  if (pairs.every(({ from }) => isReadOnlyDisk(from))) {
    for (const pair of pairs) copyUnwritten(pair)
    return
  }
  const readers = await openAtOneInstant(pairs.map(({ from }) => from))
  try {
    const totalBytes = readers.reduce((sum, db) => sum + sizeOf(db), 0)
    let before = 0
    for (const [index, { to }] of pairs.entries()) {
      const reader = readers[index] as Db
      const { onProgress } = options
      await copyOne(reader, to, {
        ...options,
        onProgress: (done) => onProgress?.(before + done, totalBytes),
      })
      before += sizeOf(reader)
      closeLog(to)
    }
  } catch (error) {
    throw translate(error)
  } finally {
    for (const reader of readers) reader.close()
  }
}

/** True where the whole file system is read-only, not where somebody lacks the right. */
export function isReadOnlyDisk(file: string): boolean {
  try {
    accessSync(file, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** Opens a file as it is: no migration, no change of its settings. */
export function openPlain(file: string, readonly: boolean): Db {
  const native = nativeBinding()
  return new Database(file, {
    readonly,
    fileMustExist: true,
    timeout: 0,
    ...(native === undefined ? {} : { nativeBinding: native as unknown as string }),
  })
}

/** @returns a reader of each file, all of them within a transaction that sees the same instant */
async function openAtOneInstant(files: readonly string[]): Promise<Db[]> {
  const writers: Db[] = []
  const readers: Db[] = []
  try {
    // the file whose writers take longest comes first, so that the other's never wait for it: data.db before state.db
    for (const file of files.toSorted()) {
      const writer = openPlain(file, false)
      writers.push(writer)
      await retryBusy(() => writer.exec('BEGIN IMMEDIATE'), WRITER_WAIT_MS)
    }
    for (const file of files) {
      const reader = openPlain(file, true)
      readers.push(reader)
      reader.exec('BEGIN')
      reader.prepare('SELECT count(*) FROM sqlite_schema').get() // the read is what fixes the snapshot
    }
    return readers
  } catch (error) {
    for (const reader of readers) reader.close()
    throw error
  } finally {
    for (const writer of writers) writer.close() // rolls back: nothing was written
  }
}

/** The copy takes the log in when it is opened. */
function copyUnwritten({ from, to }: SnapshotPair): void {
  copyFileSync(from, to)
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`)
  closeLog(to)
}

async function copyOne(reader: Db, to: string, options: SnapshotOptions): Promise<void> {
  const pageBytes = Number(reader.pragma('page_size', { simple: true }))
  const startedMs = performance.now()
  const { bytesPerSecond } = options
  const allowed = Math.floor(bytesPerSecond / STEPS_PER_S / pageBytes)
  const stepPages = bytesPerSecond === 0 ? STEP_PAGES : Math.max(1, Math.min(STEP_PAGES, allowed))
  let syncedBytes = 0
  await reader.backup(to, {
    progress({ totalPages, remainingPages }) {
      if (options.signal?.aborted === true) throw new AppError('CANCELLED')
      const done = (totalPages - remainingPages) * pageBytes
      if (done - syncedBytes >= SYNC_BYTES) {
        syncFile(to)
        syncedBytes = done
      }
      options.onProgress?.(done, totalPages * pageBytes)
      if (bytesPerSecond > 0) sleepSync((done / bytesPerSecond) * 1000 - (performance.now() - startedMs))
      return stepPages
    },
  })
}

/** Without a log beside it a copy can be read on a disk that nobody may write to. */
function closeLog(file: string): void {
  const db = openPlain(file, false)
  try {
    db.pragma('journal_mode = DELETE')
  } finally {
    db.close()
  }
  const fd = openSync(file, 'r+')
  fsyncSync(fd)
  closeSync(fd)
}

function syncFile(file: string): void {
  if (!existsSync(file)) return
  const fd = openSync(file, 'r+')
  fdatasyncSync(fd)
  closeSync(fd)
}

function sleepSync(ms: number): void {
  if (ms >= 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function sizeOf(db: Db): number {
  return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }))
}

function translate(error: unknown): unknown {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_FULL')
    ? new AppError('DISK_FULL', {}, { cause: error })
    : error
}
