import { chownSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import path from 'node:path'
import type { SweepLease } from '../../work/sweep-lease.js'
import { type Db, retryBusy } from './database.js'
import { lockFileFault } from './lock-file-fault.js'
import { isBusy, openFile } from './open-file.js'

/** Longest wait of `keep`: a removal of very many files takes less. */
const KEEP_WAIT_MS = 10 * 60_000

/**
 * Opens the lease of a data directory: shared and exclusive SQLite locks on a file that serves nothing else.
 * They are locks of the operating system, released when the process ends.
 *
 * @param file `lease.db`; created on first use
 */
export function createSweepLease(file: string): SweepLease {
  return {
    async keep() {
      const db = openLease(file)
      try {
        db.exec('BEGIN')
        // the read takes the shared lock, which is held until the transaction ends
        await retryBusy(() => db.exec('SELECT 1 FROM sqlite_schema'), KEEP_WAIT_MS)
      } catch (error) {
        db.close()
        throw lockFileFault(error, file)
      }
      return async () => void db.close()
    },
    async remove() {
      const db = openLease(file)
      try {
        db.exec('BEGIN EXCLUSIVE')
      } catch (error) {
        db.close()
        if (isBusy(error)) return undefined
        throw lockFileFault(error, file)
      }
      // the system keeps the lock for as long as this process lives
      return { confirm: async () => undefined, release: async () => void db.close() }
    },
  }
}

function openLease(file: string): Db {
  createFile(file)
  return openFile(file)
}

/**
 * Creates the file with mode 0600; SQLite would choose another mode. An existing file is not opened: closing
 * it would release the locks that this process holds on it (fcntl(2)).
 */
function createFile(file: string): void {
  if (existsSync(file)) return
  try {
    closeSync(openSync(file, 'wx', 0o600))
    giveToOwner(file)
  } catch (error) {
    // no test: another thread would have to make it since the first line
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!isThere) throw error
  }
}

/**
 * Gives a file made by root, for example during a backup, to the owner of the directory, as whom the gateway
 * runs.
 */
function giveToOwner(file: string): void {
  if (process.geteuid?.() !== 0) return // no test: taken where tests do not run as root
  const { uid, gid } = statSync(path.dirname(file))
  if (statSync(file).uid !== uid) chownSync(file, uid, gid)
}
