import type { MetaStore } from '../../meta.js'
import type { PostgresDb } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

const FIND = 'SELECT value FROM meta WHERE name = $1'

/** Creates the meta store: rows of name and value, so that a new fact needs no migration. */
export function createMetaStore(db: PostgresDb): MetaStore {
  const read = async (name: string) => (await db.read.get<{ value: string }>(FIND, name))?.value
  return {
    nodeId: () => read('node_id'),
    claimNodeId: (nodeId) =>
      db.write(async (rows) => {
        await rows.run(`INSERT INTO meta VALUES ('node_id', $1) ON CONFLICT DO NOTHING`, nodeId)
        return writtenRow(await rows.get<{ value: string }>(FIND, 'node_id')).value
      }),
    lastSeenUs: async () => Number((await read('last_seen_us')) ?? 0),
    async recordTime(us) {
      await db.write((rows) =>
        rows.run(
          `INSERT INTO meta VALUES ('last_seen_us', $1::bigint::text) ON CONFLICT (name)
            DO UPDATE SET value = greatest(meta.value::bigint, excluded.value::bigint)::text`,
          us,
        ),
      )
    },
    noted: read,
    async note(name, value) {
      await db.write((rows) =>
        rows.run(
          'INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
          ...[name, value],
        ),
      )
    },
  }
}
