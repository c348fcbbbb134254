import type { AskedFeed, AskedFeeds, ToldCursor } from '../../exchange/feeds.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'

/** Most feeds that a key may ask for. */
const MAX_ASKED = 1000

const KEEP = `INSERT INTO feed_asked (key_id, feed_id, node, data_name, asked, asked_at_us)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key_id, feed_id) DO UPDATE SET node = excluded.node,
    data_name = excluded.data_name, asked = excluded.asked, asked_at_us = excluded.asked_at_us`
const FORGET_OLDEST = `DELETE FROM feed_asked WHERE key_id = $1 AND feed_id IN (SELECT feed_id FROM feed_asked
  WHERE key_id = $1 ORDER BY asked_at_us DESC, feed_id OFFSET ${MAX_ASKED})`
const OF_NODE = `SELECT key_id AS "keyId", asked, told FROM feed_asked WHERE node = $1 ORDER BY feed_id, key_id`
const OF_TABLE = `SELECT asked, told FROM feed_asked AS f WHERE data_name = $1
  AND EXISTS (SELECT 1 FROM api_key AS k WHERE k.key_id = f.key_id AND k.revoked_at_us IS NULL)
  ORDER BY feed_id, key_id`
const NOTE_TOLD = `UPDATE feed_asked SET told = $3 WHERE node = $1 AND feed_id = $2 AND told IS DISTINCT FROM $3`

const GRANTED = `SELECT key_id AS "keyId", data_name AS name FROM key_table WHERE key_id = ANY($1::text[])
  ORDER BY data_name`

interface AskedRow {
  asked: string
  told: string | null
}

/** Creates the feeds that other nodes ask for. */
export function createAskedFeeds(db: PostgresDb, clock: TrustedClock): AskedFeeds {
  const textOf = async (keyId: string, feedId: string) => {
    const find = 'SELECT asked FROM feed_asked WHERE key_id = $1 AND feed_id = $2'
    return (await db.read.get<{ asked: string }>(find, keyId, feedId))?.asked
  }
  const grantOf = readTogether<string[]>(async (keyIds) => {
    const tables = new Map<string, string[]>()
    for (const { keyId, name } of await db.read.all<{ keyId: string; name: string }>(GRANTED, [...keyIds])) {
      const names = tables.get(keyId) ?? []
      names.push(name)
      tables.set(keyId, names)
    }
    return tables
  })
  return {
    async keep(keyId, { feedId, node, dataName, columns, conds, start }) {
      const text = JSON.stringify({ feedId, node, dataName, columns, conds, start })
      if ((await textOf(keyId, feedId)) === text) return // as after each restart of the other node
      await db.write(async (rows) => {
        await rows.run(KEEP, keyId, feedId, node, dataName, text, clock.nowUs())
        await rows.run(FORGET_OLDEST, keyId)
      })
    },
    async find(keyId, feedId) {
      const text = await textOf(keyId, feedId)
      return text === undefined ? undefined : (JSON.parse(text) as AskedFeed) // `keep` wrote it
    },
    async ofNode(node) {
      const found = await db.read.all<AskedRow & { keyId: string }>(OF_NODE, node)
      return found.map((row) => ({ keyId: row.keyId, ...toAsked(row) }))
    },
    ofTable: async (dataName) => (await db.read.all<AskedRow>(OF_TABLE, dataName)).map(toAsked),
    async noteTold(node, feedId, { table, epoch, cursor }) {
      const text = JSON.stringify({ table, epoch, cursor })
      await db.write((rows) => rows.run(NOTE_TOLD, node, feedId, text))
    },
    async grant(keyId, tables) {
      await db.write(async (rows) => {
        // of two grants at once one is whole
        await rows.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `${db.schema} grant ${keyId}`)
        await rows.run('DELETE FROM key_table WHERE key_id = $1', keyId)
        const insert = 'INSERT INTO key_table SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING'
        await rows.run(insert, keyId, [...tables])
      })
    },
    granted: async (keyId) => (await grantOf(keyId)) ?? [],
  }
}

function toAsked({ asked, told }: AskedRow): { feed: AskedFeed; told: ToldCursor | null } {
  return {
    feed: JSON.parse(asked) as AskedFeed, // `keep` wrote it
    told: told === null ? null : (JSON.parse(told) as ToldCursor), // `noteTold` wrote it
  }
}
