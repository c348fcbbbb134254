import {
  allCounts,
  BEHIND_S,
  CLOCK_OFF_US,
  type FleetOverview,
  type MemberChoice,
  type MemberPosition,
  ranksOf,
  SILENT_US,
  troubleAt,
} from '../../exchange/fleet-overview.js'
import type { Rows } from '../connection/database.js'
import { MEMBER_COLUMNS, type MemberRow, toMember } from './member-row.js'

/** Place of the worst trouble in `TROUBLES`; $1 is the time before which a report is too old. */
const RANK = `CASE
  WHEN m.state = 'revoked' OR m.state = 'member' AND k.revoked_at_us IS NOT NULL THEN 0
  WHEN m.state = 'left' THEN 10
  WHEN coalesce(m.last_seen_us, m.joined_at_us) < $1 THEN 1
  WHEN NOT m.is_ready THEN 2
  WHEN m.outcome = 'put_back' OR m.has_rollback THEN 3
  WHEN m.oldest_s > ${BEHIND_S} THEN 4
  WHEN abs(m.clock_us - m.last_seen_us) > ${CLOCK_OFF_US} THEN 5
  WHEN m.has_finding THEN 6
  WHEN m.outcome = 'partly' THEN 7
  WHEN m.applied_digest IS DISTINCT FROM (
    SELECT digest FROM fleet_profile AS p WHERE p.name = m.profile ORDER BY version DESC LIMIT 1) THEN 8
  ELSE 9 END`

/** lower() of the collation C changes ASCII letters only. */
const CHOSEN = `FROM fleet_member AS m JOIN api_key AS k USING (key_id)
  WHERE ($2::text IS NULL OR strpos(lower(m.name), lower($2 COLLATE "C")) > 0) AND ($3::text IS NULL OR m.profile = $3)`

const OF_RANKS = '($4::int[] IS NULL OR rank = ANY ($4))'

const PAGE = (order: string) => `SELECT * FROM (SELECT ${MEMBER_COLUMNS}, ${RANK} AS rank ${CHOSEN}) AS ranked
  WHERE ${OF_RANKS} ORDER BY ${order}name, "nodeId" LIMIT $5 OFFSET $6`

const COUNTS = `SELECT rank, count(*) AS gateways FROM (SELECT ${RANK} AS rank ${CHOSEN}) AS ranked GROUP BY rank`

const POSITIONS = `SELECT * FROM (SELECT m.node_id AS "nodeId", m.name, ${RANK} AS rank, m.lng, m.lat ${CHOSEN}) AS ranked
  WHERE ${OF_RANKS} AND lng IS NOT NULL AND lat IS NOT NULL ORDER BY rank, name, "nodeId" LIMIT $5`

/** Creates the overview of the gateways of a hub. */
export function createFleetOverview(read: Rows): FleetOverview {
  return {
    async page({ order, limit, offset, ...choice }) {
      const sql = PAGE(order === 'trouble' ? 'rank, ' : '')
      const params = [...paramsOf(choice), ranksOf(choice.troubles), limit ?? null, offset]
      const rows = await read.all<MemberRow & { rank: number }>(sql, ...params)
      return rows.map(({ rank, ...row }) => ({ ...toMember(row), trouble: troubleAt(rank) }))
    },
    async count(choice) {
      return allCounts(await read.all<{ rank: number; gateways: number }>(COUNTS, ...paramsOf(choice)))
    },
    async positions(choice, limit) {
      const params = [...paramsOf(choice), ranksOf(choice.troubles), limit]
      const rows = await read.all<Omit<MemberPosition, 'trouble'> & { rank: number }>(POSITIONS, ...params)
      return rows.map(({ rank, ...row }) => ({ ...row, trouble: troubleAt(rank) }))
    },
  }
}

function paramsOf({ name, profile, nowUs }: MemberChoice) {
  return [nowUs - SILENT_US, name ?? null, profile ?? null]
}
