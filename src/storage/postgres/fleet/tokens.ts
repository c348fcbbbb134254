import type { JoinToken, JoinTokens } from '../../exchange/fleet.js'
import type { PostgresKeys } from '../access/keys.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'
import { writtenRow } from '../connection/written-row.js'

const SELECT = `SELECT t.key_id AS "keyId", t.profile, t.max_uses AS "maxUses", t.uses,
  k.created_at_us AS "createdAtUs", k.expires_at_us AS "expiresAtUs", k.revoked_at_us AS "revokedAtUs"
  FROM fleet_token AS t JOIN api_key AS k USING (key_id)`

/** Finds a token by its key. */
export function findToken(rows: Rows, keyId: string): Promise<JoinToken | undefined> {
  return rows.get<JoinToken>(`${SELECT} WHERE t.key_id = $1`, keyId)
}

/** Creates the tokens with which gateways join. */
export function createJoinTokens(db: PostgresDb, keys: PostgresKeys): JoinTokens {
  return {
    create: (key, profile, maxUses) =>
      db.write(async (rows, { isRepeat }) => {
        const known = await rows.get('SELECT 1 FROM fleet_profile WHERE name = $1 LIMIT 1', profile)
        if (known === undefined) return undefined
        await keys.insert(rows, key, isRepeat)
        await rows.run(
          `INSERT INTO fleet_token (key_id, profile, max_uses, uses) VALUES ($1, $2, $3, 0)
            ON CONFLICT DO NOTHING`, // an earlier attempt made both, or neither
          ...[key.keyId, profile, maxUses],
        )
        return writtenRow(await findToken(rows, key.keyId))
      }),
    find: readTogether(async (keyIds) => {
      const found = await db.read.all<JoinToken>(`${SELECT} WHERE t.key_id = ANY ($1::text[])`, [...keyIds])
      return new Map(found.map((token) => [token.keyId, token]))
    }),
    list: () => db.read.all<JoinToken>(`${SELECT} ORDER BY k.created_at_us DESC, t.key_id`),
    revoke: (keyId) =>
      db.write(async (rows) => {
        if ((await findToken(rows, keyId)) === undefined) return undefined
        await keys.revokeNow(rows, keyId)
        return await findToken(rows, keyId)
      }),
  }
}
