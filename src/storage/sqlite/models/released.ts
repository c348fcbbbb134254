import { statement } from '../connection/database.js'
import { type StateDb, writeFreeing } from '../connection/state-db.js'

type ReleasedRows = {
  isReleased(sha256: string): Promise<boolean>
  released(limit: number): Promise<string[]>
  forgetReleased(digests: readonly string[]): Promise<void>
}

/** Creates the rows of bytes whose last model was deleted; a trigger of the schema adds them. */
export function createReleased(state: StateDb): ReleasedRows {
  const { db } = state
  return {
    isReleased: async (sha256) =>
      statement(db, 'SELECT 1 FROM released_blob WHERE sha256 = ?').get(sha256) !== undefined,
    released: async (limit) =>
      statement<{ sha256: string }>(db, 'SELECT sha256 FROM released_blob LIMIT ?')
        .all(limit)
        .map(({ sha256 }) => sha256),
    async forgetReleased(digests) {
      if (digests.length === 0) return
      await writeFreeing(state, () => {
        const forget = statement(db, 'DELETE FROM released_blob WHERE sha256 = ?')
        for (const sha256 of digests) forget.run(sha256)
      })
    },
  }
}
