import { randomUUID } from 'node:crypto'
import type { AuditEvent, AuditNotes } from '../../access/audit.js'
import type { PostgresDb } from '../connection/database.js'

/** Acts handed over in one call, so that those gathered while no process ran do not flood the log. */
const MAX_ACTS = 500

interface NoteRow {
  noteId: string
  atUs: number
  event: string
}

/** Creates the audit notes. Of several processes that hand over at a time, each takes other acts. */
export function createAuditNotes(db: PostgresDb, nowUs: () => number): AuditNotes {
  return {
    async note(event) {
      const noteId = randomUUID() // made once, so that a repeat adds no second act
      await db.write((rows) =>
        rows.run(
          'INSERT INTO audit_note VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
          ...[noteId, nowUs(), JSON.stringify(event)],
        ),
      )
    },
    handOver: (write) =>
      db.write(
        async (rows) => {
          const notes = await rows.all<NoteRow>(
            `SELECT note_id AS "noteId", at_us AS "atUs", event FROM audit_note
              ORDER BY at_us, note_id LIMIT $1 FOR UPDATE SKIP LOCKED`,
            MAX_ACTS,
          )
          for (const { atUs, event } of notes) {
            const parsed: AuditEvent = JSON.parse(event)
            write({ ...parsed, atUs })
          }
          const ids = notes.map(({ noteId }) => noteId)
          await rows.run('DELETE FROM audit_note WHERE note_id = ANY($1::uuid[])', ids)
        },
        { canRepeat: false }, // lines of the log cannot be taken back
      ),
  }
}
