import { statfs } from 'node:fs/promises'

/** Kept free beside what is counted: folders, the manifest, and what the file system needs for itself. */
const MARGIN_BYTES = 1024 * 1024

export async function freeBytesOf(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir)
  return bavail * bsize
}

/** @throws Error with both figures when fewer bytes than these and the reserve are free */
export async function requireFree(dir: string, neededBytes: number, reserveBytes: number): Promise<void> {
  const freeBytes = await freeBytesOf(dir)
  const expected = neededBytes + reserveBytes + MARGIN_BYTES
  if (freeBytes >= expected) return
  const reserve = reserveBytes === 0 ? '' : `, of which ${reserveBytes} are the gateway's reserve`
  throw new Error(
    `the disk of ${dir} has too little room: found ${freeBytes} bytes free, expected ${expected}${reserve}; make room, or choose another directory`,
  )
}
