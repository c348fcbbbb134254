import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** An act that somebody may ask about later. Never with a secret in it. */
export type AuditEvent = { readonly act: string } & Readonly<Record<string, string | number | null>>

/**
 * Acts of command lines, which have no log of their own, on their way to the gateway's: there each becomes a line with
 * `audit: true`, so that the journal has all of them in one place.
 */
export interface AuditNotes {
  note(event: AuditEvent): Promise<void>
  /** hands over what was noted, oldest first; what `tell` was given is forgotten when it returns */
  handOver(tell: (event: AuditEvent & { atUs: number }) => void): Promise<void>
}

/** Facts of `meta` whose names begin so are acts; then the time, and a number that keeps those of one microsecond apart. */
const PREFIX = 'audit:'
/** Acts of one turn: a journal is not flooded by what gathered while no gateway ran. */
const MAX_ACTS = 500

export function createAuditNotes(state: StateDb, nowUs: () => number): AuditNotes {
  const { db } = state
  return {
    note: (event) =>
      writeState(state, () => {
        const name = `${PREFIX}${String(nowUs()).padStart(17, '0')}:${process.pid}`
        statement(db, 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)').run(
          name,
          JSON.stringify(event),
        )
      }),
    async handOver(tell) {
      // names that begin with the prefix, read along the primary key
      const rows = statement<{ name: string; value: string }>(
        db,
        "SELECT name, value FROM meta WHERE name >= 'audit:' AND name < 'audit;' ORDER BY name LIMIT ?",
      ).all(MAX_ACTS)
      if (rows.length === 0) return
      for (const { name, value } of rows)
        tell({ ...(JSON.parse(value) as AuditEvent), atUs: Number(name.split(':')[1]) })
      await writeState(state, () => {
        const remove = statement(db, 'DELETE FROM meta WHERE name = ?')
        for (const { name } of rows) remove.run(name)
      })
    },
  }
}
