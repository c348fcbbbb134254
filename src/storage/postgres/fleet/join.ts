import type { FleetMember, JoinOutcome, JoinRequest } from '../../exchange/fleet.js'
import type { PostgresKeys } from '../access/keys.js'
import type { Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'
import { findMember } from './member-row.js'
import { findToken } from './tokens.js'

interface Joining {
  readonly request: JoinRequest
  readonly keys: PostgresKeys
  readonly nowUs: number
  readonly isRepeat: boolean
}

/** Takes a gateway in. Call it inside a transaction. */
export async function joinMember(rows: Rows, joining: Joining): Promise<JoinOutcome> {
  const { request, keys, isRepeat } = joining
  const { nodeId, tokenKeyId, newKeyId } = request
  // those that join with one token take turns, then those of one node: all processes in this order
  await rows.run('SELECT 1 FROM fleet_token WHERE key_id = $1 FOR UPDATE', tokenKeyId)
  await rows.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `join ${nodeId}`)
  const token = await findToken(rows, tokenKeyId)
  if (token === undefined) return { kind: 'no_token' }
  const old = await findMember(rows, 'm.node_id', nodeId)
  if (old?.state === 'revoked') return { kind: 'revoked', member: old }
  if (old !== undefined && !hasSameKeys(old, request)) return { kind: 'other_keys', member: old }
  // the id of a new key is made for each request
  if (isRepeat && old?.state === 'member' && old.keyId === newKeyId) return { kind: 'joined', member: old }
  if (old?.state === 'member' && old.profile === token.profile && (await hasSecret(rows, old.keyId, request)))
    return { kind: 'repeated', member: old }
  if (token.uses >= token.maxUses) return { kind: 'used_up', token }
  await rows.run('UPDATE fleet_token SET uses = uses + 1 WHERE key_id = $1', tokenKeyId)
  if (old !== undefined) await keys.revokeNow(rows, old.keyId)
  await insertMember(rows, joining, token.profile)
  return { kind: 'joined', member: writtenRow(await findMember(rows, 'm.node_id', nodeId)) }
}

async function insertMember(rows: Rows, { request, keys, nowUs }: Joining, profile: string): Promise<void> {
  const { newKeyId: keyId, nodeId, name, scopes, secretHash, signingKey, exchangeKey } = request
  // a gateway keeps its secret for this hub: that of a key that was revoked may come again
  await rows.run(
    `DELETE FROM api_key_secret WHERE digest = $1
      AND key_id IN (SELECT key_id FROM api_key WHERE revoked_at_us IS NOT NULL)`,
    Buffer.from(secretHash),
  )
  const key = { keyId, name: `gateway ${name}`.slice(0, 100), scopes, secretHash, expiresAtUs: null }
  await keys.insert(rows, key, false)
  // feeds of this node come with this key
  await rows.run('INSERT INTO key_node (key_id, node_id) VALUES ($1, $2)', keyId, nodeId)
  await rows.run(
    `INSERT INTO fleet_member (node_id, name, profile, key_id, signing_key, exchange_key, state, joined_at_us)
      VALUES ($1, $2, $3, $4, $5, $6, 'member', $7)
      ON CONFLICT (node_id) DO UPDATE SET name = excluded.name, profile = excluded.profile,
        key_id = excluded.key_id, state = 'member', joined_at_us = excluded.joined_at_us, ended_at_us = NULL`,
    ...[nodeId, name, profile, keyId, signingKey, exchangeKey, nowUs],
  )
}

function hasSameKeys(member: FleetMember, { signingKey, exchangeKey }: JoinRequest): boolean {
  return member.signingKey === signingKey && member.exchangeKey === exchangeKey
}

async function hasSecret(rows: Rows, keyId: string, { secretHash }: JoinRequest): Promise<boolean> {
  const find = 'SELECT 1 FROM api_key_secret WHERE key_id = $1 AND digest = $2'
  return (await rows.get(find, keyId, Buffer.from(secretHash))) !== undefined
}
