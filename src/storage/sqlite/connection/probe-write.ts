import type { Db } from './database.js'
import { isBusy, isFull } from './open-file.js'

/**
 * Commits a page of a database as it is, which shows whether its log can still be written and synced. Skipped
 * while another connection writes, which shows the same, and on a full disk, which is reported elsewhere.
 *
 * @throws SqliteError
 */
export function probeWrite(db: Db): void {
  if (db.inTransaction) return
  try {
    db.transaction(() => {
      const version = db.pragma('user_version', { simple: true })
      db.pragma(`user_version = ${Number(version)}`)
    }).immediate()
  } catch (error) {
    if (!isBusy(error) && !isFull(error)) throw error
  }
}
