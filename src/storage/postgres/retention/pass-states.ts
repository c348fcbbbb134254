import type { PassState } from '../../retention.js'
import type { PostgresDb } from '../connection/database.js'

/** States of the last passes, which one process makes and all of them answer. */
export interface PassStates {
  keep(states: ReadonlyMap<number, PassState>): Promise<void>
  /** Returns the state of the last pass over a table; undefined before the first one, and for a table without a rule. */
  find(tableId: number): Promise<PassState | undefined>
  /** Returns the rows that all rules have removed since they were set, and the states of all tables with a rule. */
  all(): Promise<{ removed: number; states: (PassState | undefined)[] }>
}

export function createPassStates(db: PostgresDb): PassStates {
  return {
    async keep(states) {
      const texts = [...states.values()].map((state) => JSON.stringify(state))
      await db.write((rows) =>
        rows.run(
          `UPDATE loader_retention AS r SET pass = s.pass
           FROM unnest($1::bigint[], $2::text[]) AS s(table_id, pass)
           WHERE r.table_id = s.table_id AND r.pass IS DISTINCT FROM s.pass`,
          ...[[...states.keys()], texts],
        ),
      )
    },
    async find(tableId) {
      const sql = 'SELECT pass FROM loader_retention WHERE table_id = $1 AND pass IS NOT NULL'
      const found = await db.read.get<{ pass: string }>(sql, tableId)
      return found === undefined ? undefined : readState(found.pass)
    },
    async all() {
      const sql = 'SELECT removed, pass FROM loader_retention'
      const found = await db.read.all<{ removed: number; pass: string | null }>(sql)
      return {
        removed: found.reduce((sum, { removed }) => sum + removed, 0),
        states: found.map(({ pass }) => (pass === null ? undefined : readState(pass))),
      }
    },
  }
}

function readState(text: string): PassState {
  return JSON.parse(text) as PassState // `keep` wrote it
}
