import Database from 'better-sqlite3'
import { nativeBinding } from './native.js'

interface OpenFileOptions {
  readonly?: boolean
  /** fails for a missing file instead of creating it */
  fileMustExist?: boolean
}

/**
 * Opens a connection with SQLite's defaults. The busy timeout is 0: SQLite would wait inside the event loop.
 *
 * @throws SqliteError
 */
export function openFile(file: string, options: OpenFileOptions = {}): Database.Database {
  const native = nativeBinding()
  if (native === undefined) return new Database(file, { ...options, timeout: 0 })
  // the declared type allows only a path; the addon object is documented, and needed inside a bundle
  return new Database(file, { ...options, timeout: 0, nativeBinding: native as unknown as string })
}

/** Reports whether a statement failed because another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** Reports whether a statement failed because the disk is full. */
export function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_FULL')
}

/** Reports whether a file is damaged, is not a database, or cannot be read at all. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(?:NOTADB|CORRUPT|CANTOPEN|IOERR)/.test(error.code)
}
