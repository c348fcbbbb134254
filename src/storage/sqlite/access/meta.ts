import { eq, sql } from 'drizzle-orm'
import type { MetaStore } from '../../meta.js'
import { writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { meta } from '../connection/state-schema.js'

/** Creates the meta store of `state.db`: rows of name and value, so that a new fact needs no migration. */
export function createMetaStore(state: StateDb): MetaStore {
  const { orm } = state
  const name = sql.placeholder('name')
  const value = sql.placeholder('value')
  const find = orm.select({ value: meta.value }).from(meta).where(eq(meta.name, name)).prepare()
  const insert = orm.insert(meta).values({ name, value }).onConflictDoNothing().prepare()
  const upsert = orm
    .insert(meta)
    .values({ name, value })
    .onConflictDoUpdate({ target: meta.name, set: { value: sql`excluded.value` } })
    .prepare()
  const read = (of: string) => find.get({ name: of })?.value
  return {
    nodeId: async () => read('node_id'),
    claimNodeId: (nodeId) =>
      writeState(state, () => {
        insert.run({ name: 'node_id', value: nodeId })
        return writtenRow(read('node_id'))
      }),
    lastSeenUs: async () => Number(read('last_seen_us') ?? 0),
    async recordTime(us) {
      await writeFreeing(state, () => {
        if (us > Number(read('last_seen_us') ?? 0)) upsert.run({ name: 'last_seen_us', value: String(us) })
      })
    },
    noted: async (of) => read(of),
    note: (of, text) => writeState(state, () => void upsert.run({ name: of, value: text })),
  }
}
