import { statfs } from 'node:fs/promises'
import { AppError } from '../errors.js'

/** How much room the data directory's file system has, asked of the system at most every so often. */
export interface DiskSpace {
  freeBytes(): Promise<number>
  /** @throws AppError DISK_FULL when fewer than the reserve would stay free */
  require(bytes: number): Promise<void>
}

/** Free space is asked again after this long, or after this much was written. */
const RECHECK_MS = 500
const RECHECK_BYTES = 4 * 1024 * 1024

/**
 * @param reserveBytes what is kept for the databases' own state, so that they can always commit
 */
export function createDiskSpace(dir: string, reserveBytes: number): DiskSpace {
  let freeBytes = 0
  let askedAtMs = Number.NEGATIVE_INFINITY
  let sinceBytes = 0
  const ask = async () => {
    const { bavail, bsize } = await statfs(dir)
    freeBytes = bavail * bsize
    askedAtMs = performance.now()
    sinceBytes = 0
    return freeBytes
  }
  return {
    freeBytes: ask,
    async require(bytes) {
      const isStale = performance.now() - askedAtMs > RECHECK_MS || sinceBytes > RECHECK_BYTES
      // a full disk is asked every time: it recovers by itself as soon as there is room
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
