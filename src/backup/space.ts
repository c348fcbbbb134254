import { statfs } from 'node:fs/promises'

/** Added to the bytes that are counted: folders, the manifest, and the file system's own metadata. */
const MARGIN_BYTES = 1024 * 1024

/** Free bytes of the file system of `dir`, for this user. */
export async function freeBytesOf(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir)
  return bavail * bsize
}

/** @throws Error with both figures when fewer than `neededBytes + reserveBytes` and a margin are free */
export async function requireFree(dir: string, neededBytes: number, reserveBytes: number): Promise<void> {
  const freeBytes = await freeBytesOf(dir)
  const expected = neededBytes + reserveBytes + MARGIN_BYTES
  if (freeBytes >= expected) return
  const reserve = reserveBytes === 0 ? '' : `, of which ${reserveBytes} are the gateway's reserve`
  throw new Error(
    `the disk of ${dir} has too little free space: found ${freeBytes} bytes free, expected ${expected}${reserve}; free some space, or choose another directory`,
  )
}
