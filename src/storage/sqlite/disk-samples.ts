import type { DiskSamples } from '../disk-samples.js'
import { statement } from './connection/database.js'
import { type StateDb, writeFreeing } from './connection/state-db.js'

const WEEK_US = 7 * 86_400_000_000

/** Opens the samples of free space of `state.db`. */
export function createDiskSamples(state: StateDb): DiskSamples {
  const { db } = state
  return {
    // also on a full disk, which is when they are of use
    note: ({ atUs, freeBytes }) =>
      writeFreeing(state, () => {
        statement(db, 'DELETE FROM disk_sample WHERE at_us < ? OR at_us > ?').run(atUs - WEEK_US, atUs)
        statement(db, 'INSERT OR REPLACE INTO disk_sample VALUES (?, ?)').run(atUs, freeBytes)
      }),
    list: async () =>
      statement<{ atUs: number; freeBytes: number }>(
        db,
        'SELECT at_us AS atUs, free_bytes AS freeBytes FROM disk_sample ORDER BY at_us',
      ).all(),
  }
}
