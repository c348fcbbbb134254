import type { DiskSamples } from '../../disk-samples.js'
import type { Db } from '../connection/database.js'
import { hasTable } from './database-facts.js'

/** Reads the samples of free space; none of an earlier schema. */
export function readDiskSamples(db: Db): Awaited<ReturnType<DiskSamples['list']>> {
  if (!hasTable(db, 'disk_sample')) return []
  return db
    .prepare<[], { atUs: number; freeBytes: number }>(
      'SELECT at_us AS atUs, free_bytes AS freeBytes FROM disk_sample ORDER BY at_us',
    )
    .all()
}

/** Returns the bytes within a file that rows can use. */
export function reusableBytes(db: Db): number {
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }))
  return pragma('freelist_count') * pragma('page_size')
}
