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
import { AppError, diskFaultKind, messageOf } from '../../../errors.js'
import { type Db, retryBusy } from './database.js'
import { isFull, openFile } from './open-file.js'

/** A database and the destination of its copy. */
interface SnapshotPair {
  readonly from: string
  readonly to: string
}

interface SnapshotOptions {
  signal?: AbortSignal | undefined
  /**
   * read rate, bytes per second; 0 for no limit. A limit blocks the thread, so it needs a thread of its own
   */
  bytesPerSecond: number
  onProgress?(doneBytes: number, totalBytes: number): void
}

/** Most pages copied in one step: 1 MiB at SQLite's usual page size. */
const STEP_PAGES = 256
/**
 * Steps per second under a rate limit. The thread sleeps between two steps and notices there that it was
 * stopped.
 */
const STEPS_PER_S = 10
/** Bytes written before they are synced, so that the next commit of a gateway does not wait for gigabytes. */
const SYNC_BYTES = 8 * 1024 * 1024
/** Longest wait for a writer: a bulk load is one transaction. */
const WRITER_WAIT_MS = 30 * 60_000

/**
 * Copies databases as they were at one instant, while other connections of any process go on writing.
 *
 * The write locks of all files are held for an instant, so that no commit lies between the snapshots of two
 * files. They are released as soon as each file has an open read transaction, a few milliseconds later; WAL
 * preserves what the readers see. The copies are synced files without a log beside them.
 *
 * The log of a database cannot be emptied while it is copied: it grows by everything written meanwhile.
 *
 * SQLite cannot open a database on a disk that became read-only, as worn disks do. Nothing writes there, so
 * the files are copied together with their logs.
 *
 * @throws AppError DISK_FULL, CANCELLED, BUSY
 */
export async function copyDatabases(pairs: readonly SnapshotPair[], options: SnapshotOptions): Promise<void> {
  if (pairs.every(({ from }) => isReadOnlyDisk(from))) {
    for (const pair of pairs) copyReadOnly(pair) // no test: needs a disk that is read-only
    return
  }
  const readers = await openAtOneInstant(pairs.map(({ from }) => from))
  try {
    const totalBytes = readers.reduce((sum, db) => sum + sizeOf(db), 0)
    let beforeBytes = 0
    for (const [index, { to }] of pairs.entries()) {
      const reader = readers[index] as Db // one per pair
      await copyOne(reader, to, {
        ...options,
        onProgress: (done) => options.onProgress?.(beforeBytes + done, totalBytes),
      })
      beforeBytes += sizeOf(reader)
      closeLog(to)
    }
  } catch (error) {
    // no test: needs a disk that is full
    throw isFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
  } finally {
    for (const reader of readers) reader.close()
  }
}

/** Reports whether the file system of a file is read-only, as opposed to a file without write permission. */
export function isReadOnlyDisk(file: string): boolean {
  try {
    accessSync(file, constants.W_OK)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS'
  }
}

/** Opens an existing file as it is: without migration or changes of its settings. */
export function openPlain(file: string, readonly: boolean): Db {
  return openFile(file, { readonly, fileMustExist: true })
}

/** Returns a reader per file, in the same order, each in a read transaction that sees the same instant. */
async function openAtOneInstant(files: readonly string[]): Promise<Db[]> {
  const writers: Db[] = []
  const readers: Db[] = []
  try {
    // data.db before state.db: its writers take longest, and those of state.db never wait for them
    for (const file of files.toSorted()) {
      const writer = openPlain(file, false)
      writers.push(writer)
      await retryBusy(() => naming(file, () => writer.exec('BEGIN IMMEDIATE')), WRITER_WAIT_MS)
    }
    for (const file of files) {
      const reader = openPlain(file, true)
      readers.push(reader)
      naming(file, () => {
        reader.exec('BEGIN')
        reader.prepare('SELECT count(*) FROM sqlite_schema').get() // the first read fixes the snapshot
      })
    }
    return readers
  } catch (error) {
    for (const reader of readers) reader.close()
    throw error
  } finally {
    for (const writer of writers) writer.close() // rolls back: nothing was written
  }
}

/** Adds the name of a damaged file to the error of SQLite, which does not have it. */
function naming<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (diskFaultKind(error) !== 'damaged') throw error
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** Copies a database together with its log; opening the copy merges the two. */
function copyReadOnly({ from, to }: SnapshotPair): void {
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

/**
 * Merges the log into a copy and removes it, so that the copy can be read on a read-only disk. Syncs the
 * file.
 */
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
  if (!existsSync(file)) return // no test: SQLite creates the copy before its first step
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
