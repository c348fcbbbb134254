import type { FeedIdentity } from '../../exchange/feeds.js'
import type { PostgresDb } from '../connection/database.js'

const FIRST_EPOCH = 1
const EPOCH = `SELECT value::bigint AS epoch FROM meta WHERE name = 'feed_epoch'`
const BEGIN_EPOCH = `INSERT INTO meta AS m VALUES ('feed_epoch', $1::bigint::text) ON CONFLICT (name)
  DO UPDATE SET value = greatest(m.value::bigint + 1, $1::bigint)::text RETURNING value::bigint AS epoch`
/** A snapshot names the transactions that are seen: it is another one after each commit. */
const SNAPSHOT = 'SELECT hashtext(pg_current_snapshot()::text) AS n'

/** Creates the names of tables and of the incarnation of the rows of a hub. */
export function createFeedIdentity(db: PostgresDb, onFault: (error: unknown) => void): FeedIdentity {
  const epoch = async () => (await db.read.get<{ epoch: number }>(EPOCH))?.epoch ?? FIRST_EPOCH
  let count = 0
  let isAsking = false
  const ask = async () => {
    try {
      count = (await db.read.get<{ n: number }>(SNAPSHOT))?.n ?? 0
    } catch (error) {
      onFault(error)
    } finally {
      isAsking = false
    }
  }
  return {
    async tableUuid({ tableId }) {
      const find = 'SELECT table_uuid AS uuid FROM loader_table WHERE table_id = $1'
      return (await db.read.get<{ uuid: string }>(find, tableId))?.uuid
    },
    epoch,
    beginEpoch(nowUs) {
      let begun: number | undefined
      return db.write(async (rows, { isRepeat }) => {
        const known = (await rows.get<{ epoch: number }>(`${EPOCH} FOR UPDATE`))?.epoch
        if (isRepeat && begun !== undefined && known === begun) return begun
        begun = (await rows.get<{ epoch: number }>(BEGIN_EPOCH, nowUs))?.epoch ?? nowUs
        return begun
      })
    },
    changeCount() {
      // asked for in passing: the answer is there when this is called again
      if (!isAsking) {
        isAsking = true
        void ask()
      }
      return count
    },
  }
}
