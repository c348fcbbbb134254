import { chownSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { retryBusy } from './database.js'
import { nativeBinding } from './native.js'

/**
 * Whether bytes that nothing names may be removed now. A backup reads rows first and then the bytes they name, which
 * takes minutes; a model that is deleted meanwhile is gone from the gateway's rows, but not from the backup's. So whoever
 * removes bytes asks for `remove`, and nobody gets it while a backup, of this or of any other process, holds `keep`.
 *
 * It is a lock of the system (SQLite's shared and exclusive ones on a file of their own): it goes with the process that
 * holds it, however that ends, so no stale lease can be left behind.
 */
export interface SweepLease {
  /** waits until a removal that has begun is over. @returns gives the lease back */
  keep(): Promise<() => void>
  /** @returns gives the lease back; undefined while a backup is being made: what is to go goes at a later sweep */
  remove(): (() => void) | undefined
}

/** A sweep of very many files takes this long at most. */
const KEEP_WAIT_MS = 10 * 60_000

/** @param file `lease.db` of a data directory; made here when it is missing */
export function createSweepLease(file: string): SweepLease {
  return {
    async keep() {
      const db = openLease(file)
      try {
        db.exec('BEGIN')
        // the read is what takes the shared lock, and keeps it until the transaction ends
        await retryBusy(() => db.exec('SELECT 1 FROM sqlite_schema'), KEEP_WAIT_MS)
      } catch (error) {
        db.close()
        throw error
      }
      return () => void db.close()
    },
    remove() {
      const db = openLease(file)
      try {
        db.exec('BEGIN EXCLUSIVE')
      } catch (error) {
        db.close()
        if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined
        throw error
      }
      return () => void db.close()
    },
  }
}

/** A lease that is always free, for databases in memory. */
export const FREE_LEASE: SweepLease = { keep: async () => () => undefined, remove: () => () => undefined }

function openLease(file: string): Database.Database {
  makeFile(file)
  const native = nativeBinding()
  return new Database(file, {
    timeout: 0,
    ...(native === undefined ? {} : { nativeBinding: native as unknown as string }),
  })
}

/**
 * Made here and not by SQLite, which would give it other rights. A file that is there is left alone: closing it would take
 * away the locks that this process holds on it (fcntl(2)).
 */
function makeFile(file: string): void {
  if (existsSync(file)) return
  try {
    closeSync(openSync(file, 'wx', 0o600))
    giveToOwner(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error // another thread was quicker
  }
}

/** A backup that root makes must not leave a file that the gateway, which runs as somebody else, cannot open. */
function giveToOwner(file: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(path.dirname(file))
  if (statSync(file).uid !== uid) chownSync(file, uid, gid)
}
