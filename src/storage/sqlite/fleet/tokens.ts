import type { JoinToken, JoinTokens } from '../../exchange/fleet.js'
import type { SqliteKeys } from '../access/keys.js'
import { oneValue, statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

const SELECT = `SELECT t.key_id AS keyId, t.profile, t.max_uses AS maxUses, t.uses,
  k.created_at_us AS createdAtUs, k.expires_at_us AS expiresAtUs, k.revoked_at_us AS revokedAtUs
  FROM fleet_token AS t JOIN api_key AS k USING (key_id)`

/** Creates the tokens of `state.db`. */
export function createJoinTokens(state: StateDb, keys: SqliteKeys): JoinTokens {
  const { db } = state
  const find = (keyId: string) => statement<JoinToken>(db, `${SELECT} WHERE t.key_id = ?`).get(keyId)
  return {
    create: (key, profile, maxUses) =>
      writeState(state, () => {
        const isKnown = 'SELECT count(*) FROM fleet_profile WHERE name = ?'
        if (oneValue<number>(db, isKnown, profile) === 0) return undefined
        keys.insert(key)
        const sql = 'INSERT INTO fleet_token (key_id, profile, max_uses, uses) VALUES (?, ?, ?, 0)'
        statement(db, sql).run(key.keyId, profile, maxUses)
        return writtenRow(find(key.keyId))
      }),
    find: async (keyId) => find(keyId),
    list: async () => statement<JoinToken>(db, `${SELECT} ORDER BY k.created_at_us DESC, t.key_id`).all(),
    revoke: (keyId) =>
      writeFreeing(state, () => {
        if (find(keyId) === undefined) return undefined
        keys.revokeNow(keyId)
        return find(keyId)
      }),
  }
}

/** Finds a token, and counts a use of it. Call it inside a transaction. */
export function tokenCounter({ db }: StateDb): {
  find(keyId: string): JoinToken | undefined
  count(keyId: string): void
} {
  return {
    find: (keyId) => statement<JoinToken>(db, `${SELECT} WHERE t.key_id = ?`).get(keyId),
    count: (keyId) =>
      void statement(db, 'UPDATE fleet_token SET uses = uses + 1 WHERE key_id = ?').run(keyId),
  }
}
