import type { ModelRows } from '../../models/models.js'
import type { PostgresDb, Rows, Value } from '../connection/database.js'

type ReleasedRows = Pick<ModelRows, 'isReleased' | 'released' | 'forgetReleased'>

/**
 * Deletes models, whose bytes become released. Call it inside a transaction.
 *
 * @param where constant SQL
 * @returns their numbers in the order of registration
 */
export async function deleteModels(rows: Rows, where: string, ...values: Value[]): Promise<number[]> {
  const gone = await rows.all<{ seq: number; sha256: string }>(
    `DELETE FROM model AS m WHERE ${where} RETURNING seq, sha256`,
    ...values,
  )
  const digests = [...new Set(gone.map(({ sha256 }) => sha256))].sort() // one order of locks for all processes
  const insert = 'INSERT INTO released_blob SELECT unnest($1::text[]) ON CONFLICT DO NOTHING'
  if (digests.length > 0) await rows.run(insert, digests)
  return gone.map(({ seq }) => seq)
}

/** Creates the rows of bytes whose last model was deleted. */
export function createReleased(db: PostgresDb): ReleasedRows {
  return {
    isReleased: async (sha256) =>
      (await db.read.get('SELECT 1 FROM released_blob WHERE sha256 = $1', sha256)) !== undefined,
    async released(limit) {
      const found = await db.read.all<{ sha256: string }>(
        'SELECT sha256 FROM released_blob ORDER BY sha256 LIMIT $1',
        limit,
      )
      return found.map(({ sha256 }) => sha256)
    },
    async forgetReleased(digests) {
      if (digests.length === 0) return
      const forget = 'DELETE FROM released_blob WHERE sha256 = ANY($1::text[])'
      await db.write((rows) => rows.run(forget, [...digests]))
    },
  }
}
