import { existsSync } from 'node:fs'
import type { DataLayout } from '../files/layout.js'
import { createClock, type TrustedClock } from '../storage/clock.js'
import { isReadOnlyDisk, openPlain } from '../storage/sqlite/connection/snapshot.js'

/** The clock as the gateway of a data directory would have it, without opening that for writing. */
export function readClock(layout: DataLayout): TrustedClock {
  return createClock(readLastSeenUs(layout))
}

/** The latest time that a gateway recorded, µs; 0 when there is none. @throws the error of SQLite or the file system */
export function readLastSeenUs(layout: DataLayout): number {
  // on a disk that turned read-only SQLite cannot open it
  if (!existsSync(layout.stateDb) || isReadOnlyDisk(layout.stateDb)) return 0
  const db = openPlain(layout.stateDb, true)
  try {
    const sql = "SELECT value FROM meta WHERE name = 'last_seen_us'"
    return Number(db.prepare<[], string>(sql).pluck().get() ?? 0)
  } finally {
    db.close()
  }
}
