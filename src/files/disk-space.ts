import { statfs } from 'node:fs/promises'
import { AppError } from '../errors.js'

/** Free space of the data directory's file system. */
export interface DiskSpace {
  /** Returns the free bytes now. */
  freeBytes(): Promise<number>
  /** Checks that the reserve stays free after a write of `bytes`. @throws AppError DISK_FULL */
  require(bytes: number): Promise<void>
}

/** The file system is asked again after this time, or after this number of written bytes. */
const RECHECK_MS = 500
const RECHECK_BYTES = 4 * 1024 * 1024

/**
 * Creates a check of the free space. Between two questions to the file system it subtracts the bytes
 * announced since.
 *
 * @param reserveBytes kept free for the databases, so that they can always commit
 */
export function createDiskSpace(dir: string, reserveBytes: number): DiskSpace {
  let freeBytes = 0
  let askedAtMs = Number.NEGATIVE_INFINITY
  let sinceBytes = 0
  let asking: Promise<number> | undefined
  const askNow = async () => {
    try {
      const { bavail, bsize } = await statfs(dir)
      freeBytes = bavail * bsize
      askedAtMs = performance.now()
      sinceBytes = 0
      return freeBytes
    } finally {
      asking = undefined
    }
  }
  /** Asks once for all that wait for the answer. */
  const ask = (): Promise<number> => {
    asking ??= askNow()
    return asking
  }
  return {
    freeBytes: ask,
    async require(bytes) {
      const isStale = performance.now() - askedAtMs > RECHECK_MS || sinceBytes > RECHECK_BYTES
      // a full disk is asked every time, so that space made free is used at once
      if (isStale || freeBytes - sinceBytes - bytes < reserveBytes) await ask()
      if (freeBytes - sinceBytes - bytes < reserveBytes) {
        const expected = bytes === 0 ? '' : `${bytes} for this call and `
        const message = `The disk has ${freeBytes} bytes free, expected room for ${expected}the reserve of ${reserveBytes}: remove data, or lower limits.diskReserveBytes`
        throw new AppError('DISK_FULL', { freeBytes, reserveBytes, neededBytes: bytes }, { message })
      }
      sinceBytes += bytes
    },
  }
}
