import type { PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

/** Ids of nodes in `row_origin`. They never change, so a process keeps those that it has seen committed. */
export interface Origins {
  /**
   * Makes ids of nodes that were never named before, in a transaction of its own: `keep` asks for nothing then, while it
   * holds the lock of a table.
   *
   * @param nodeIds UUIDs
   */
  prepare(nodeIds: Iterable<string>): Promise<void>
  /**
   * Returns the id of a node; a new one for a node that was never named before.
   *
   * @param rows of a transaction
   * @param nodeId UUID of the node; empty for this hub, whose id is 0
   */
  keep(rows: Rows, nodeId: string): Promise<number>
}

interface OriginRow {
  readonly nodeId: string
  readonly id: number
  /** true for a row of this transaction, which may be rolled back */
  readonly isOwn: boolean
}

const FIND = `SELECT node_id AS "nodeId", origin_id AS id,
    xmin = pg_current_xact_id_if_assigned()::xid IS TRUE AS "isOwn"
  FROM row_origin WHERE node_id = ANY ($1::text[])`
/** A process that makes the same id at the time is waited for. */
const MAKE = `INSERT INTO row_origin (node_id) SELECT node_id FROM unnest($1::text[]) AS n (node_id)
  ORDER BY node_id COLLATE "C" ON CONFLICT DO NOTHING`

/** Creates the ids of one process. */
export function createOrigins(db: Pick<PostgresDb, 'read' | 'write'>): Origins {
  const known = new Map([['', 0]])
  /** Finds ids and keeps the committed ones. It takes no second connection: those that have one wait for it. */
  const find = async (rows: Rows, nodeIds: readonly string[]) => {
    const found = await rows.all<OriginRow>(FIND, nodeIds)
    for (const { nodeId, id, isOwn } of found) if (!isOwn) known.set(nodeId, id)
    return found
  }
  const unknownOf = (nodeIds: Iterable<string>) => [...new Set(nodeIds)].filter((id) => !known.has(id))
  return {
    async prepare(nodeIds) {
      const asked = unknownOf(nodeIds)
      if (asked.length === 0) return
      await find(db.read, asked)
      const missing = unknownOf(asked)
      if (missing.length === 0) return
      await db.write((rows) => rows.run(MAKE, missing))
      await find(db.read, missing)
    },
    async keep(rows, nodeId) {
      const id = known.get(nodeId)
      if (id !== undefined) return id
      const [there] = await find(rows, [nodeId])
      if (there !== undefined) return there.id
      await rows.run(MAKE, [nodeId])
      return writtenRow((await find(rows, [nodeId]))[0]).id
    },
  }
}
