import type {
  FleetMember,
  FleetMembers,
  JoinOutcome,
  JoinRequest,
  RolloutMember,
} from '../../exchange/fleet.js'
import type { FleetOverview } from '../../exchange/fleet-overview.js'
import type { TrustedClock } from '../../work/clock.js'
import type { SqliteKeys } from '../access/keys.js'
import { oneValue, statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { findMember, listMembers } from './member-row.js'
import { createFleetOverview } from './overview.js'
import { readFleetSummary } from './summary.js'
import { tokenCounter } from './tokens.js'

/** Time that one kept report stands for, µs. */
const SLOT_US = 600_000_000
const DAY_US = 86_400_000_000

/** Release in the last report: `open` until the gateway runs it. A refused one is as any refused part. */
const RELEASE = `(SELECT CASE max(CASE value ->> '$.state' WHEN 'rolled_back' THEN 2 WHEN 'staged' THEN 1 WHEN 'waiting' THEN 1 END)
    WHEN 2 THEN 'rolled_back' WHEN 1 THEN 'open' END
  FROM json_each(last_report, '$.profile.items') WHERE value ->> '$.item' GLOB 'release *')`

const OF_PROFILE = `SELECT m.node_id AS nodeId, applied_digest AS appliedDigest, tried_digest AS triedDigest, outcome,
  last_seen_us AS lastSeenUs, tried_at_us AS triedAtUs, last_report ->> '$.ready' AS isReady, ${RELEASE} AS release
  FROM fleet_member AS m JOIN api_key AS k USING (key_id)
  WHERE profile = ? AND state = 'member' AND k.revoked_at_us IS NULL`

/** Creates the members of `state.db`. */
export function createFleetMembers(
  state: StateDb,
  clock: TrustedClock,
  keys: SqliteKeys,
): FleetMembers & FleetOverview {
  const { db } = state
  const find = (nodeId: string) => findMember(db, 'm.node_id = ?', nodeId)
  return {
    ...createFleetOverview(db),
    join: (request) => writeState(state, () => join(state, clock, keys, request)),
    find: async (nodeId) => find(nodeId),
    ofKey: async (keyId) => findMember(db, 'm.key_id = ?', keyId),
    summary: async (silentBeforeUs) => readFleetSummary(db, silentBeforeUs),
    list: async () => listMembers(db),
    ofProfile: async (profile) =>
      statement<Omit<RolloutMember, 'isReady'> & { isReady: number | null }>(db, OF_PROFILE)
        .all(profile)
        .map((row) => ({ ...row, isReady: row.isReady !== 0 })),
    end: (nodeId, to) =>
      writeFreeing(state, () => {
        const member = find(nodeId)
        if (member === undefined) return undefined
        keys.revokeNow(member.keyId)
        const sql = `UPDATE fleet_member SET state = ?, ended_at_us = coalesce(ended_at_us, ?) WHERE node_id = ?`
        // a gateway that was revoked stays so, also when it leaves
        if (member.state !== 'revoked') statement(db, sql).run(to, clock.nowUs(), nodeId)
        return find(nodeId)
      }),
    forget: (nodeId) =>
      writeFreeing(state, () => {
        const member = find(nodeId)
        if (member === undefined || member.state === 'member') return undefined
        statement(db, 'DELETE FROM fleet_member WHERE node_id = ?').run(nodeId)
        return member
      }),
    report: (nodeId, { appliedDigest, triedDigest, outcome, report }) =>
      writeState(state, () => {
        const [nowUs, text] = [clock.nowUs(), JSON.stringify(report)]
        statement(
          db,
          // the time of a version begins when its release runs
          `UPDATE fleet_member SET
             tried_at_us = CASE WHEN tried_digest IS ? AND ${RELEASE} IS NULL THEN tried_at_us ELSE ? END,
             applied_digest = ?, tried_digest = ?, outcome = ?, last_seen_us = ?, last_report = ?
           WHERE node_id = ?`,
        ).run(triedDigest, nowUs, appliedDigest, triedDigest, outcome, nowUs, text, nodeId)
        statement(
          db,
          `INSERT INTO fleet_report (node_id, slot, at_us, body) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET at_us = excluded.at_us, body = excluded.body`,
        ).run(nodeId, Math.floor(nowUs / SLOT_US), nowUs, text)
        const old = 'DELETE FROM fleet_report WHERE node_id = ? AND (slot <= ? OR slot > ?)'
        // reports of a clock that was ahead go, too
        const slot = Math.floor(nowUs / SLOT_US)
        statement(db, old).run(nodeId, slot - DAY_US / SLOT_US, slot)
      }),
    reports: async (nodeId) =>
      statement<{ atUs: number; body: string }>(
        db,
        'SELECT at_us AS atUs, body FROM fleet_report WHERE node_id = ? ORDER BY slot DESC',
      )
        .all(nodeId)
        .map(({ atUs, body }) => ({ atUs, report: JSON.parse(body) })),
  }
}

function join(state: StateDb, clock: TrustedClock, keys: SqliteKeys, request: JoinRequest): JoinOutcome {
  const { db } = state
  const tokens = tokenCounter(state)
  const find = () => findMember(db, 'm.node_id = ?', request.nodeId)
  const token = tokens.find(request.tokenKeyId)
  if (token === undefined) return { kind: 'no_token' }
  const old = find()
  if (old?.state === 'revoked') return { kind: 'revoked', member: old }
  if (old !== undefined && !hasSameKeys(old, request)) return { kind: 'other_keys', member: old }
  if (old?.state === 'member' && old.profile === token.profile && hasSecret(state, old.keyId, request)) {
    notePeer(db, old, clock.nowUs())
    return { kind: 'repeated', member: old }
  }
  if (token.uses >= token.maxUses) return { kind: 'used_up', token }
  tokens.count(token.keyId)
  if (old !== undefined) keys.revokeNow(old.keyId)
  const { newKeyId: keyId, nodeId, name, scopes, secretHash } = request
  // a gateway keeps its secret for this hub: that of a key that was revoked may come again
  statement(
    db,
    `DELETE FROM api_key_secret WHERE digest = ?
       AND key_id IN (SELECT key_id FROM api_key WHERE revoked_at_us IS NOT NULL)`,
  ).run(Buffer.from(secretHash))
  keys.insert({ keyId, name: `gateway ${name}`.slice(0, 100), scopes, secretHash, expiresAtUs: null })
  for (const table of request.tables)
    statement(db, 'INSERT INTO key_table (key_id, data_name) VALUES (?, ?) ON CONFLICT DO NOTHING').run(
      keyId,
      table,
    )
  // feeds of this node come with this key
  statement(db, 'INSERT INTO key_node (key_id, node_id) VALUES (?, ?)').run(keyId, nodeId)
  statement(
    db,
    `INSERT INTO fleet_member (node_id, name, profile, key_id, signing_key, exchange_key, state, joined_at_us)
     VALUES (?, ?, ?, ?, ?, ?, 'member', ?)
     ON CONFLICT DO UPDATE SET name = excluded.name, profile = excluded.profile, key_id = excluded.key_id,
       state = 'member', joined_at_us = excluded.joined_at_us, ended_at_us = NULL`,
  ).run(nodeId, name, token.profile, keyId, request.signingKey, request.exchangeKey, clock.nowUs())
  const member = writtenRow(find())
  notePeer(db, member, clock.nowUs())
  return { kind: 'joined', member }
}

/** Notes the public keys of a member. A name that is taken gets the beginning of the node id. */
function notePeer(
  db: StateDb['db'],
  { nodeId, name, signingKey, exchangeKey }: FleetMember,
  nowUs: number,
): void {
  const keys = [signingKey, exchangeKey].map((key) => Buffer.from(key, 'base64url'))
  const replaced = 'DELETE FROM node_peer WHERE node_id = ? AND (signing_key <> ? OR exchange_key <> ?)'
  statement(db, replaced).run(nodeId, ...keys)
  const add = statement(
    db,
    `INSERT INTO node_peer (node_id, name, signing_key, exchange_key, relay, added_at_us)
       VALUES (?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING`,
  )
  const { changes } = add.run(nodeId, name, ...keys, nowUs)
  if (changes === 0) add.run(nodeId, `${name.slice(0, 50)}-${nodeId.slice(0, 8)}`, ...keys, nowUs)
}

function hasSameKeys(member: FleetMember, { signingKey, exchangeKey }: JoinRequest): boolean {
  return member.signingKey === signingKey && member.exchangeKey === exchangeKey
}

function hasSecret({ db }: StateDb, keyId: string, { secretHash }: JoinRequest): boolean {
  const sql = 'SELECT count(*) FROM api_key_secret WHERE key_id = ? AND digest = ?'
  return oneValue<number>(db, sql, keyId, Buffer.from(secretHash)) > 0
}
