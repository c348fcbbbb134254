import type { AuditEvent, AuditNotes } from '../../access/audit.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeFreeing } from '../connection/state-db.js'

/**
 * Prefix of the facts in `meta` that are acts. The time follows, then the process id, which separates equal
 * times.
 */
const PREFIX = 'audit:'
/** Acts handed over in one call, so that those gathered while no gateway ran do not flood the log. */
const MAX_ACTS = 500

/** Creates audit notes that are kept as facts of `meta`. */
export function createAuditNotes(state: StateDb, nowUs: () => number): AuditNotes {
  const { db } = state
  return {
    note: (event) =>
      writeFreeing(state, () => {
        const name = `${PREFIX}${String(nowUs()).padStart(17, '0')}:${process.pid}`
        const insert = statement(db, 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)')
        insert.run(name, JSON.stringify(event))
      }),
    async handOver(write) {
      // the range of names with the prefix, read along the primary key: ';' follows ':' in ASCII
      const rows = statement<{ name: string; value: string }>(
        db,
        "SELECT name, value FROM meta WHERE name >= 'audit:' AND name < 'audit;' ORDER BY name LIMIT ?",
      ).all(MAX_ACTS)
      if (rows.length === 0) return
      for (const { name, value } of rows) {
        const event: AuditEvent = JSON.parse(value)
        write({ ...event, atUs: Number(name.split(':')[1]) })
      }
      await writeFreeing(state, () => {
        const remove = statement(db, 'DELETE FROM meta WHERE name = ?')
        for (const { name } of rows) remove.run(name)
      })
    },
  }
}
