import type { Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

/** Ids of nodes in `row_origin`. They never change, so a process keeps those that it has seen committed. */
export interface Origins {
  /**
   * Returns the id of a node; a new one for a node that was never named before.
   *
   * @param nodeId UUID of the node; empty for this hub, whose id is 0
   */
  keep(rows: Rows, nodeId: string): Promise<number>
}

/** Creates the ids of one process. @param read sees committed rows only */
export function createOrigins(read: Rows): Origins {
  const known = new Map([['', 0]])
  const find = 'SELECT origin_id AS id FROM row_origin WHERE node_id = $1'
  return {
    async keep(rows, nodeId) {
      const id = known.get(nodeId)
      if (id !== undefined) return id
      const committed = await read.get<{ id: number }>(find, nodeId)
      if (committed !== undefined) {
        known.set(nodeId, committed.id)
        return committed.id
      }
      // not kept: the transaction may be rolled back. A process that makes the same id at the time is waited for
      await rows.run('INSERT INTO row_origin (node_id) VALUES ($1) ON CONFLICT DO NOTHING', nodeId)
      return writtenRow(await rows.get<{ id: number }>(find, nodeId)).id
    },
  }
}
