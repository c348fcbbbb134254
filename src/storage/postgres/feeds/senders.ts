import type { FeedSenders } from '../../exchange/feeds.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'

const FIND = 'SELECT key_id AS "keyId", node_id AS "nodeId" FROM key_node WHERE key_id = ANY ($1::text[])'
const OTHER = `SELECT k.key_id AS "keyId" FROM key_node AS n JOIN api_key AS k USING (key_id)
  WHERE n.node_id = $1 AND n.key_id <> $2 AND k.revoked_at_us IS NULL
    AND (k.expires_at_us IS NULL OR k.expires_at_us > $3) LIMIT 1`

/** Keys whose node a process keeps in mind. */
const MAX_KNOWN = 50_000

/** Creates the nodes of keys. A key that is bound stays so for ever, so it is asked for once. */
export function createFeedSenders(db: PostgresDb, clock: TrustedClock): FeedSenders {
  const bound = new Map<string, string>()
  const nodeOf = readTogether(async (keyIds) => {
    const found = await db.read.all<{ keyId: string; nodeId: string }>(FIND, [...keyIds])
    return new Map(found.map((row) => [row.keyId, row.nodeId]))
  })
  const find = async (keyId: string) => {
    const known = bound.get(keyId)
    if (known !== undefined) return known
    const nodeId = await nodeOf(keyId)
    if (nodeId !== undefined) bound.set(keyId, nodeId)
    const [oldest] = bound.keys()
    if (bound.size > MAX_KNOWN && oldest !== undefined) bound.delete(oldest)
    return nodeId
  }
  return {
    async find(keyId, nodeId) {
      const known = await find(keyId)
      if (known !== undefined) return { nodeId: known, otherKeyId: null }
      const other = await db.read.get<{ keyId: string }>(OTHER, nodeId, keyId, clock.nowUs())
      return { nodeId: undefined, otherKeyId: other?.keyId ?? null }
    },
    async bind(keyId, nodeId) {
      if ((await find(keyId)) !== undefined) return // most calls
      const insert = 'INSERT INTO key_node (key_id, node_id) VALUES ($1, $2) ON CONFLICT DO NOTHING'
      await db.write((rows) => rows.run(insert, keyId, nodeId))
    },
  }
}
