import type { FeedSenders } from '../../exchange/feeds.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** Creates the nodes of keys of `state.db`. */
export function createFeedSenders(state: StateDb, clock: TrustedClock): FeedSenders {
  const { db } = state
  const find = (keyId: string) =>
    statement<string>(db, 'SELECT node_id FROM key_node WHERE key_id = ?').pluck().get(keyId)
  const other = (keyId: string, nodeId: string) =>
    statement<string>(
      db,
      `SELECT k.key_id FROM key_node AS n JOIN api_key AS k USING (key_id)
       WHERE n.node_id = ? AND n.key_id <> ? AND k.revoked_at_us IS NULL
         AND (k.expires_at_us IS NULL OR k.expires_at_us > ?) LIMIT 1`,
    )
      .pluck()
      .get(nodeId, keyId, clock.nowUs()) ?? null
  return {
    async find(keyId, nodeId) {
      const known = find(keyId)
      return { nodeId: known, otherKeyId: known === undefined ? other(keyId, nodeId) : null }
    },
    async bind(keyId, nodeId) {
      if (find(keyId) !== undefined) return // most calls
      const sql = 'INSERT INTO key_node (key_id, node_id) VALUES (?, ?) ON CONFLICT DO NOTHING'
      await writeState(state, () => void statement(db, sql).run(keyId, nodeId))
    },
  }
}
