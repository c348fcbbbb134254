import { open, unlink } from 'node:fs/promises'
import path from 'node:path'
import { ifThere, isDiskFull } from './blob-store.js'

/**
 * Writes a file of one byte, syncs and removes it: shows whether the disk still takes writes. A full disk is no
 * fault here, because free space is checked elsewhere.
 *
 * @param dir directory of temporary files
 * @throws Error of the system: EIO on a dead disk, EROFS on one that became read-only
 */
export async function probeWrite(dir: string): Promise<void> {
  const file = path.join(dir, 'write-probe')
  try {
    const handle = await open(file, 'w', 0o600)
    try {
      await handle.write('\n')
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (!isDiskFull(error)) throw error
  } finally {
    await ifThere(unlink(file))
  }
}
