import { open, rename } from 'node:fs/promises'
import path from 'node:path'

/** Renames a file so that a power cut leaves either the old file or the whole new one. Syncs twice. */
export async function syncedRename(temp: string, file: string): Promise<void> {
  await sync(temp)
  await rename(temp, file)
  await sync(path.dirname(file))
}

async function sync(name: string): Promise<void> {
  const handle = await open(name, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
