import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder } from '../files/blob-store.js'
import { listBackups, type Manifest } from './manifest.js'
import { type BackupPlace, openBytes, PART } from './place.js'

/**
 * Removes all but the newest backups of a place, and the bytes that no remaining backup refers to. The newest
 * backup without damaged citations always stays. The caller holds the lock of the place.
 *
 * An unreadable manifest may refer to any bytes: while there is one, no bytes are removed.
 *
 * @param keep number of backups to keep; 0 keeps all
 * @returns names of the removed backups, and why no bytes were removed (null when they were)
 */
export async function retain(
  place: BackupPlace,
  keep: number,
): Promise<{ removed: string[]; retentionFault: string | null }> {
  if (keep === 0) return { removed: [], retentionFault: null }
  const { backups, bad } = listBackups(place)
  const removed: string[] = []
  const sound = backups.findLast(({ manifest }) => manifest.damagedCitations === undefined)
  for (const { name, dir } of backups.slice(0, -keep)) {
    if (name === sound?.name) continue
    const part = `${dir}${PART}` // an interrupted removal leaves an incomplete folder, never a backup with files missing
    await rename(dir, part)
    await syncFolder(place.backupsDir)
    await rm(part, { recursive: true, force: true })
    removed.push(name)
  }
  const [first] = bad
  if (first !== undefined)
    return { removed, retentionFault: `${path.join(place.backupsDir, first.name)}: ${first.fault}` }
  if (removed.length > 0) await removeUnusedBytes(place)
  return { removed, retentionFault: null }
}

async function removeUnusedBytes(place: BackupPlace): Promise<void> {
  const used = new Set(listBackups(place).backups.flatMap(({ manifest }) => digestsOf(manifest)))
  const bytes = openBytes(place)
  for await (const sha256 of bytes.list()) if (!used.has(sha256)) await bytes.remove(sha256)
}

/** Digests of all bytes that a restore of a backup needs. */
export function digestsOf({ models, tableFiles, files }: Manifest): string[] {
  return [
    ...models.map(([sha256]) => sha256),
    ...tableFiles.map(([sha256]) => sha256),
    ...files.map((one) => one.sha256),
  ]
}
