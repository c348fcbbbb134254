import type { FleetMember } from '../../exchange/fleet.js'
import type { Rows } from '../connection/database.js'

/** A gateway as it is stored, with the end of its key. */
export type MemberRow = Omit<FleetMember, 'lastReport'> & {
  lastReport: string | null
  keyRevokedAtUs: number | null
}

/** Columns of a gateway, of `fleet_member AS m`. */
export const OF_MEMBER = `m.node_id AS "nodeId", m.name, m.profile, m.key_id AS "keyId",
  m.signing_key AS "signingKey", m.exchange_key AS "exchangeKey", m.state, m.joined_at_us AS "joinedAtUs",
  m.ended_at_us AS "endedAtUs", m.applied_digest AS "appliedDigest", m.tried_digest AS "triedDigest", m.outcome,
  m.last_seen_us AS "lastSeenUs", m.last_report AS "lastReport"`

/** Columns of a gateway, of `fleet_member AS m` and `api_key AS k`. */
export const MEMBER_COLUMNS = `${OF_MEMBER}, k.revoked_at_us AS "keyRevokedAtUs"`

const SELECT = `SELECT ${MEMBER_COLUMNS} FROM fleet_member AS m JOIN api_key AS k USING (key_id)`

/** Finds a gateway by its node. */
export async function findMember(rows: Rows, nodeId: string): Promise<FleetMember | undefined> {
  const row = await rows.get<MemberRow>(`${SELECT} WHERE m.node_id = $1`, nodeId)
  return row === undefined ? undefined : toMember(row)
}

/** Finds gateways by their keys. @returns by key */
export async function findMembers(
  rows: Rows,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, FleetMember>> {
  const found = await rows.all<MemberRow>(`${SELECT} WHERE m.key_id = ANY ($1::text[])`, [...keyIds])
  return new Map(found.map((row) => [row.keyId, toMember(row)]))
}

/** Returns all gateways, by name. */
export async function listMembers(rows: Rows): Promise<FleetMember[]> {
  return (await rows.all<MemberRow>(`${SELECT} ORDER BY m.name, m.node_id`)).map(toMember)
}

/** A member whose key an operator revoked is revoked. */
export function toMember(row: MemberRow): FleetMember {
  const { keyRevokedAtUs, lastReport, ...member } = row
  const isRevoked = member.state === 'member' && keyRevokedAtUs !== null
  return {
    ...member,
    ...(isRevoked ? { state: 'revoked' as const, endedAtUs: keyRevokedAtUs } : {}),
    lastReport: lastReport === null ? null : JSON.parse(lastReport),
  }
}
