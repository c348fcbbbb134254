import { closeSync, openSync } from 'node:fs'
import Database from 'better-sqlite3'
import { nativeBinding } from './native.js'

/** A data directory that this process alone serves. */
export interface DirectoryLock {
  release(): void
}

/**
 * Takes a data directory for one gateway: an exclusive SQLite transaction on `lock.db` that is never committed.
 * The system drops it with the process, however that ends, so nothing stale can be left behind. Command-line verbs
 * beside a running gateway do not take it; the databases themselves keep them apart.
 *
 * @param file `lock.db` of the directory; no other code of this process may open it, POSIX locks would go at its close
 * @param taken the error's text when another process holds it, for directories that are not a gateway's
 * @throws Error in one line when another gateway holds it
 */
export function lockDirectory(file: string, taken?: string): DirectoryLock {
  closeSync(openSync(file, 'a', 0o600))
  const native = nativeBinding()
  const db = new Database(file, {
    timeout: 0,
    ...(native === undefined ? {} : { nativeBinding: native as unknown as string }),
  })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (!(error instanceof Database.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error
    const message = `another gateway serves this data directory (${file} is locked): stop it, or choose another --data-dir`
    throw new Error(taken ?? message, { cause: error })
  }
  return { release: () => db.close() }
}

/**
 * Tells whether a gateway holds the lock of a data directory, without taking it: a shared lock is asked for and given back
 * at once.
 */
export function isDirectoryLocked(file: string): boolean {
  const native = nativeBinding()
  const db = new Database(file, {
    readonly: true,
    timeout: 0,
    ...(native === undefined ? {} : { nativeBinding: native as unknown as string }),
  })
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return true
    throw error
  } finally {
    db.close()
  }
}
