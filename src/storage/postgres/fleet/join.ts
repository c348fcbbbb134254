import type { FleetMember, JoinOutcome, JoinRequest, JoinToken } from '../../exchange/fleet.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { writeTogether } from '../connection/write-together.js'
import { MEMBER_COLUMNS, type MemberRow, OF_MEMBER, toMember } from './member-row.js'
import { notePeers } from './note-peers.js'
import { findToken } from './tokens.js'

/** Most joins of one transaction. */
const MOST_JOINS = 100

/**
 * Creates the joining of one process. Gateways that join with one token at the same time share a transaction: it locks the
 * token once, for its last statements.
 */
export function createJoining(
  db: PostgresDb,
  clock: Pick<TrustedClock, 'nowUs'>,
): (request: JoinRequest) => Promise<JoinOutcome> {
  const join = writeTogether<JoinRequest, JoinOutcome>({
    most: MOST_JOINS,
    keyOf: ({ nodeId }) => nodeId,
    write: (tokenKeyId, requests) =>
      db.write(async (rows, { isRepeat }) => {
        const outcomes = await joinGroup(rows, { tokenKeyId, requests, nowUs: clock.nowUs(), isRepeat })
        return outcomes.map((result) => ({ result }))
      }),
  })
  return (request) => join(request.tokenKeyId, request)
}

interface Joining {
  readonly tokenKeyId: string
  /** of different nodes */
  readonly requests: readonly JoinRequest[]
  readonly nowUs: number
  readonly isRepeat: boolean
}

/** Takes gateways in: nodes are locked first, by their ids, then the token; all processes in this order. */
async function joinGroup(rows: Rows, joining: Joining): Promise<JoinOutcome[]> {
  const { tokenKeyId, requests, isRepeat } = joining
  const token = await findToken(rows, tokenKeyId)
  if (token === undefined) return requests.map(() => ({ kind: 'no_token' }))
  await rows.run(
    LOCK_NODES,
    requests.map(({ nodeId }) => nodeId),
  )
  const known = await findKnown(rows, requests)
  const judged = requests.map((request) => judge(known.get(request.nodeId), { request, token, isRepeat }))
  const newcomers = requests.filter((_, at) => judged[at] === undefined)
  const admitted = newcomers.length === 0 ? new Map() : await admit(rows, { ...joining, newcomers, known })
  const outcomes = requests.map(({ nodeId }, at): JoinOutcome => {
    const member = admitted.get(nodeId)
    if (member !== undefined) return { kind: 'joined', member }
    return judged[at] ?? { kind: 'used_up', token: { ...token, uses: token.maxUses } }
  })
  const members = outcomes.flatMap((outcome) =>
    outcome.kind === 'joined' || outcome.kind === 'repeated' ? [outcome.member] : [],
  )
  if (members.length > 0) await notePeers(rows, members, joining.nowUs)
  return outcomes
}

const LOCK_NODES = `SELECT pg_advisory_xact_lock(hashtextextended('join ' || node_id, 0))
  FROM (SELECT node_id FROM unnest($1::text[]) AS a (node_id) ORDER BY node_id COLLATE "C") AS sorted`

/** A node that joined before. */
interface Known {
  readonly member: FleetMember
  /** true when the key that it has has the secret of the request */
  readonly hasSecret: boolean
}

/** The rows stay as they are until the end of the transaction. */
const KNOWN = `SELECT ${MEMBER_COLUMNS},
    EXISTS (SELECT 1 FROM api_key_secret AS s WHERE s.key_id = m.key_id AND s.digest = a.digest) AS "hasSecret"
  FROM unnest($1::text[], $2::bytea[]) AS a (node_id, digest)
    JOIN fleet_member AS m USING (node_id) JOIN api_key AS k USING (key_id)
  ORDER BY m.node_id FOR NO KEY UPDATE OF m`

async function findKnown(rows: Rows, requests: readonly JoinRequest[]): Promise<ReadonlyMap<string, Known>> {
  const found = await rows.all<MemberRow & { hasSecret: boolean }>(
    KNOWN,
    requests.map(({ nodeId }) => nodeId),
    requests.map(({ secretHash }) => Buffer.from(secretHash)),
  )
  return new Map(found.map(({ hasSecret, ...row }) => [row.nodeId, { member: toMember(row), hasSecret }]))
}

/** Decides on a request. @returns undefined for a node that uses the token */
function judge(
  known: Known | undefined,
  { request, token, isRepeat }: { request: JoinRequest; token: JoinToken; isRepeat: boolean },
): JoinOutcome | undefined {
  if (known === undefined) return undefined
  const { member, hasSecret } = known
  if (member.state === 'revoked') return { kind: 'revoked', member }
  if (!hasSameKeys(member, request)) return { kind: 'other_keys', member }
  if (member.state !== 'member') return undefined
  // the id of a new key is made for each request
  if (isRepeat && member.keyId === request.newKeyId) return { kind: 'joined', member }
  if (member.profile === token.profile && hasSecret) return { kind: 'repeated', member }
  return undefined
}

function hasSameKeys(member: FleetMember, { signingKey, exchangeKey }: JoinRequest): boolean {
  return member.signingKey === signingKey && member.exchangeKey === exchangeKey
}

/**
 * Counts the uses of a token and makes the keys and rows of as many gateways as it has uses left, in the order of asking.
 *
 * A gateway keeps its secret for this hub: that of a key that was revoked may come again, so it is removed (`freed`) before
 * it is inserted. All parts see the rows as they were before the statement.
 */
const ADMIT = `WITH asked AS (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[],
        $10::text[], $11::text[])
      WITH ORDINALITY AS a (node_id, name, signing_key, exchange_key, key_id, key_name, scopes, digest, old_key_id, tables,
        place)
  ), token AS (
    UPDATE fleet_token AS t SET uses = before.uses + before.given
      FROM (SELECT uses, least(cardinality($2::text[]), max_uses - uses) AS given FROM fleet_token
        WHERE key_id = $1 FOR UPDATE) AS before
      WHERE t.key_id = $1 AND before.given > 0 RETURNING t.profile, before.given
  ), admitted AS (
    SELECT a.*, token.profile FROM asked AS a JOIN token ON a.place <= token.given
  ), ended AS (
    UPDATE api_key AS k SET revoked_at_us = $12 FROM admitted AS a
      WHERE k.key_id = a.old_key_id AND k.revoked_at_us IS NULL
  ), freed AS (
    DELETE FROM api_key_secret AS s USING admitted AS a WHERE s.digest = a.digest AND (s.key_id = a.old_key_id
      OR EXISTS (SELECT 1 FROM api_key AS k WHERE k.key_id = s.key_id AND k.revoked_at_us IS NOT NULL))
      RETURNING s.digest
  ), made AS (
    INSERT INTO api_key (key_id, name, scopes, created_at_us) SELECT key_id, key_name, scopes, $12 FROM admitted
  ), secret AS (
    INSERT INTO api_key_secret (digest, key_id, created_at_us) SELECT digest, key_id, $12 FROM admitted
      WHERE (SELECT count(*) FROM freed) >= 0
  ), sender AS (
    INSERT INTO key_node (key_id, node_id) SELECT key_id, node_id FROM admitted
  ), allowed AS (
    INSERT INTO key_table (key_id, data_name)
      SELECT a.key_id, n.name FROM admitted AS a, json_array_elements_text(a.tables::json) AS n (name)
      ON CONFLICT DO NOTHING
  )
  INSERT INTO fleet_member AS m (node_id, name, profile, key_id, signing_key, exchange_key, state, joined_at_us)
    SELECT node_id, name, profile, key_id, signing_key, exchange_key, 'member', $12 FROM admitted
    ON CONFLICT (node_id) DO UPDATE SET name = excluded.name, profile = excluded.profile, key_id = excluded.key_id,
      state = 'member', joined_at_us = excluded.joined_at_us, ended_at_us = NULL
    RETURNING ${OF_MEMBER}, NULL AS "keyRevokedAtUs"`

interface Admitting extends Pick<Joining, 'tokenKeyId' | 'nowUs'> {
  readonly newcomers: readonly JoinRequest[]
  readonly known: ReadonlyMap<string, Known>
}

/** @returns those that the token had uses for, by node */
async function admit(
  rows: Rows,
  { tokenKeyId, newcomers, known, nowUs }: Admitting,
): Promise<ReadonlyMap<string, FleetMember>> {
  const of = (read: (request: JoinRequest) => string) => newcomers.map(read)
  const found = await rows.all<MemberRow>(
    ADMIT,
    tokenKeyId,
    ...[of(({ nodeId }) => nodeId), of(({ name }) => name)],
    ...[of(({ signingKey }) => signingKey), of(({ exchangeKey }) => exchangeKey)],
    ...[of(({ newKeyId }) => newKeyId), of(({ name }) => `gateway ${name}`.slice(0, 100))],
    of(({ scopes }) => JSON.stringify(scopes)),
    newcomers.map(({ secretHash }) => Buffer.from(secretHash)),
    newcomers.map(({ nodeId }) => known.get(nodeId)?.member.keyId ?? null),
    of(({ tables }) => JSON.stringify(tables)),
    nowUs,
  )
  return new Map(found.map((row) => [row.nodeId, toMember(row)]))
}
