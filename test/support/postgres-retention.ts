import { createTableDigests } from '../../src/storage/postgres/feeds/table-digests.js'
import { prepareTables } from '../../src/storage/postgres/retention/age-index.js'
import { createRetentionStore } from '../../src/storage/postgres/retention/store.js'
import { putSentRows } from '../../src/storage/postgres/tables/sent-rows.js'
import { lockTable } from '../../src/storage/postgres/tables/table-state.js'
import type { RetentionWorld } from './conformance/retention/world.js'
import { type PostgresTables, postgresTables } from './postgres-tables.js'

interface Teardown {
  teardown(work: () => unknown): unknown
}

/** Rules of a hub process in a test. */
export interface PostgresRetention extends Omit<PostgresTables, 'another'>, RetentionWorld {
  /** Does what the process with the task does for tables that are not prepared. */
  prepare(): Promise<void>
  /** Opens the rules as another process of the same hub. */
  another(): PostgresRetention
}

/**
 * Starts a server.
 *
 * @param isCut decides for the n-th commit whether its answer is lost
 * @returns a function that opens rules over tables in a database of its own
 */
export async function postgresRetention(
  t: Teardown,
  isCut?: (commits: number) => boolean,
): Promise<(t: Teardown) => Promise<PostgresRetention>> {
  const open = await postgresTables(t, isCut)
  return async (t) => worldOf(await open(t))
}

function worldOf(tables: PostgresTables): PostgresRetention {
  const { context, db, files } = tables
  return {
    ...tables,
    rules: createRetentionStore(context, async (digest) => files.get(digest)?.length ?? 0),
    digests: createTableDigests(context),
    async instants({ tableId }) {
      const sql = 'SELECT at_us::text AS us FROM loader_change WHERE table_id = $1 ORDER BY at_us'
      return (await db.read.all<{ us: string }>(sql, tableId)).map(({ us }) => BigInt(us))
    },
    putSent: (table, origin, day, values) =>
      db.write(async (rows) => {
        const state = await lockTable(rows, table)
        const sent = { origin, sender: origin, rows: [{ day, version: 1, values }] }
        await putSentRows(rows, { table, state, origins: context.origins }, sent)
      }),
    prepare: () => prepareTables(db, context.catalog),
    another: () => worldOf(tables.another()),
  }
}
