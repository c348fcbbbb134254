import { copyFile, link, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder } from './blob-store.js'

/**
 * Puts a synced file in the place of another one, by a link to the same bytes, or a copy on another file system.
 * At every moment the old file or the new one has the path.
 *
 * @throws errors of the file system; the old file stays then
 */
export async function linkInPlace(source: string, file: string): Promise<void> {
  const folder = path.dirname(file)
  const temp = path.join(folder, `.${path.basename(file)}.part`)
  await rm(temp, { force: true })
  try {
    try {
      await link(source, temp)
    } catch (error) {
      // EXDEV, and file systems without links
      if (!(error instanceof Error && 'code' in error) || error.code === 'ENOENT') throw error
      await copySynced(source, temp)
    }
    await rename(temp, file)
  } finally {
    await rm(temp, { force: true }) // rename does nothing when both names are links to one file
  }
  await syncFolder(folder)
}

async function copySynced(source: string, file: string): Promise<void> {
  await copyFile(source, file)
  const handle = await open(file, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
