import type { AskedFeed, AskedFeeds, ToldCursor } from '../../exchange/feeds.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** Most feeds that a key may ask for. */
const MAX_ASKED = 1000

const OF_NODE = "asked ->> '$.node' = ?"

/** Creates the feeds that other nodes ask for, of `state.db`. */
export function createAskedFeeds(state: StateDb, clock: TrustedClock): AskedFeeds {
  const { db } = state
  const textOf = (keyId: string, feedId: string) =>
    statement<string>(db, 'SELECT asked FROM feed_asked WHERE key_id = ? AND feed_id = ?')
      .pluck()
      .get(keyId, feedId)
  return {
    async keep(keyId, { feedId, node, dataName, columns, conds, start }) {
      const text = JSON.stringify({ feedId, node, dataName, columns, conds, start })
      if (textOf(keyId, feedId) === text) return // as after each restart of the other node
      await writeState(state, () => {
        statement(
          db,
          `INSERT INTO feed_asked (key_id, feed_id, asked, asked_at_us) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET asked = excluded.asked, asked_at_us = excluded.asked_at_us`,
        ).run(keyId, feedId, text, clock.nowUs())
        statement(
          db,
          `DELETE FROM feed_asked WHERE key_id = ? AND feed_id IN (SELECT feed_id FROM feed_asked
             WHERE key_id = ? ORDER BY asked_at_us DESC, feed_id LIMIT -1 OFFSET ${MAX_ASKED})`,
        ).run(keyId, keyId)
      })
    },
    async find(keyId, feedId) {
      const text = textOf(keyId, feedId)
      return text === undefined ? undefined : (JSON.parse(text) as AskedFeed) // `keep` wrote it
    },
    async ofNode(node) {
      const sql = `SELECT key_id AS keyId, asked, told FROM feed_asked WHERE ${OF_NODE} ORDER BY feed_id, key_id`
      return statement<AskedRow>(db, sql)
        .all(node)
        .map((row) => ({ keyId: row.keyId, ...toAsked(row) }))
    },
    async ofTable(dataName) {
      const isActive =
        'EXISTS (SELECT 1 FROM api_key AS k WHERE k.key_id = f.key_id AND revoked_at_us IS NULL)'
      const sql = `SELECT key_id AS keyId, asked, told FROM feed_asked AS f
        WHERE asked ->> '$.dataName' = ? AND ${isActive} ORDER BY feed_id, key_id`
      return statement<AskedRow>(db, sql).all(dataName).map(toAsked)
    },
    async noteTold(node, feedId, { table, epoch, cursor }) {
      const text = JSON.stringify({ table, epoch, cursor })
      await writeState(state, () => {
        const sql = `UPDATE feed_asked SET told = ? WHERE ${OF_NODE} AND feed_id = ? AND told IS NOT ?`
        statement(db, sql).run(text, node, feedId, text)
      })
    },
    grant: (keyId, tables) =>
      writeState(state, () => {
        statement(db, 'DELETE FROM key_table WHERE key_id = ?').run(keyId)
        const insert = statement(
          db,
          'INSERT INTO key_table (key_id, data_name) VALUES (?, ?) ON CONFLICT DO NOTHING',
        )
        for (const name of tables) insert.run(keyId, name)
      }),
    granted: async (keyId) =>
      statement<string>(db, 'SELECT data_name FROM key_table WHERE key_id = ? ORDER BY data_name')
        .pluck()
        .all(keyId),
  }
}

interface AskedRow {
  keyId: string
  asked: string
  told: string | null
}

function toAsked({ asked, told }: AskedRow): { feed: AskedFeed; told: ToldCursor | null } {
  return {
    feed: JSON.parse(asked) as AskedFeed, // `keep` wrote it
    told: told === null ? null : (JSON.parse(told) as ToldCursor), // `noteTold` wrote it
  }
}
