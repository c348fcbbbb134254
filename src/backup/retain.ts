import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder } from '../files/blob-store.js'
import { listBackups, type Manifest } from './manifest.js'
import { type BackupPlace, openBytes, PART } from './place.js'

/**
 * Removes all but the newest backups of a place, and the bytes that none of the rest names. The caller holds the place's lock.
 *
 * A manifest that cannot be read may name anything: while there is one, no bytes go.
 *
 * @param keep how many stay; 0 for all
 */
export async function retain(
  place: BackupPlace,
  keep: number,
): Promise<{ removed: string[]; retentionFault: string | null }> {
  if (keep === 0) return { removed: [], retentionFault: null }
  const { backups, bad } = listBackups(place)
  const removed: string[] = []
  for (const { name, dir } of backups.slice(0, -keep)) {
    const part = `${dir}${PART}` // never taken for whole, wherever the removal is cut off
    await rename(dir, part)
    await syncFolder(place.backupsDir)
    await rm(part, { recursive: true, force: true })
    removed.push(name)
  }
  const [first] = bad
  if (first !== undefined)
    return { removed, retentionFault: `${path.join(place.backupsDir, first.name)}: ${first.fault}` }
  if (removed.length > 0) await removeUnnamed(place)
  return { removed, retentionFault: null }
}

async function removeUnnamed(place: BackupPlace): Promise<void> {
  const named = new Set(listBackups(place).backups.flatMap(({ manifest }) => digestsOf(manifest)))
  const bytes = openBytes(place)
  for await (const sha256 of bytes.list()) if (!named.has(sha256)) await bytes.remove(sha256)
}

/** Every digest whose bytes a backup needs. */
export function digestsOf({ models, tableFiles, files }: Manifest): string[] {
  return [
    ...models.map(([sha256]) => sha256),
    ...tableFiles.map(([sha256]) => sha256),
    ...files.map((one) => one.sha256),
  ]
}
