import { existsSync } from 'node:fs'
import path from 'node:path'
import type { DirectoryLocks } from '../../maintenance.js'
import { createSweepLease } from '../connection/lease.js'
import { isDirectoryLocked, lockDirectory } from '../connection/lock.js'
import { isBusy } from '../connection/open-file.js'

/** Locks by `lock.db` and `lease.db` of a directory. */
export function createDirectoryLocks(): DirectoryLocks {
  const lockFile = (dir: string) => path.join(dir, 'lock.db')
  return {
    async lock(dir) {
      try {
        const { release } = lockDirectory(lockFile(dir))
        return { lock: { release: async () => release() } }
      } catch (cause) {
        if (isUnwritable(cause)) return { fault: 'unwritable', cause }
        if (isHeld(cause)) return { fault: 'held', cause }
        throw cause
      }
    },
    isLocked: async (dir) => existsSync(lockFile(dir)) && isDirectoryLocked(lockFile(dir)),
    sweepLease: (dir) => createSweepLease(path.join(dir, 'lease.db')),
  }
}

/** `lockDirectory` throws errors alone, most of them with the error of the system as their cause. */
function isUnwritable(error: unknown): boolean {
  const { cause = error } = error as Error
  const { code } = cause as { readonly code?: unknown }
  return /^(?:EROFS|EACCES|EPERM|SQLITE_READONLY.*|SQLITE_CANTOPEN.*)$/.test(String(code))
}

function isHeld(error: unknown): boolean {
  return error instanceof Error && isBusy(error.cause)
}
