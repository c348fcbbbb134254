import { eq, sql } from 'drizzle-orm'
import { type StateDb, writeState } from '../connection/state-db.js'
import { meta } from '../connection/state-schema.js'

/** Single facts about this gateway. */
export interface MetaStore {
  /** the node's UUID; undefined before the first `claimNodeId` */
  nodeId(): Promise<string | undefined>
  /** makes `nodeId` the node's UUID unless it has one, and returns the one it has */
  claimNodeId(nodeId: string): Promise<string>
  /** latest time recorded, µs; 0 when there is none */
  lastSeenUs(): Promise<number>
  /** records a time; an earlier one than is recorded changes nothing */
  recordTime(us: number): Promise<void>
  /** a fact that other rooms keep here; undefined when there is none of the name */
  noted(name: string): Promise<string | undefined>
  note(name: string, value: string): Promise<void>
}

/** Rows of name and value: a fact is added without a migration. */
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
        return read('node_id') ?? nodeId
      }),
    lastSeenUs: async () => Number(read('last_seen_us') ?? 0),
    async recordTime(us) {
      await writeState(state, () => {
        if (us > Number(read('last_seen_us') ?? 0)) upsert.run({ name: 'last_seen_us', value: String(us) })
      })
    },
    noted: async (of) => read(of),
    note: (of, text) => writeState(state, () => void upsert.run({ name: of, value: text })),
  }
}
