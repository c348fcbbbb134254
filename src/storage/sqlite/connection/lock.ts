import { closeSync, openSync } from 'node:fs'
import { lockFileFault } from './lock-file-fault.js'
import { isBusy, openFile } from './open-file.js'

/** A data directory that this process alone serves. */
export interface DirectoryLock {
  release(): void
}

/**
 * Locks a data directory for one gateway: an exclusive SQLite transaction on `lock.db` that is never
 * committed. The operating system releases it when the process ends, so no stale lock can be left behind.
 * Command-line programs that run beside a gateway do not take it; the locks of the databases separate them.
 *
 * @param file `lock.db` of the directory; nothing else in this process may open it, because closing a file
 *   releases all POSIX locks of the process on it
 * @param taken message of the error if another process holds the lock, for directories that are not a
 *   gateway's
 * @throws Error in one line if another process holds the lock, or the file is not one that can be locked
 */
export function lockDirectory(file: string, taken?: string): DirectoryLock {
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch (error) {
    throw lockFileFault(error, file)
  }
  const db = openFile(file)
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (!isBusy(error)) throw lockFileFault(error, file)
    const message = `another gateway serves this data directory (${file} is locked): stop it, or choose another --data-dir`
    throw new Error(taken ?? message, { cause: error })
  }
  return { release: () => db.close() }
}

/**
 * Reports whether a gateway holds the lock of a data directory. Takes a shared lock for a moment, never the
 * lock itself.
 *
 * @throws Error in one line if the file is not one that can be locked
 */
export function isDirectoryLocked(file: string): boolean {
  const db = openFile(file, { readonly: true })
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw lockFileFault(error, file)
  } finally {
    db.close()
  }
}
