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
import { type Db, statement } from '../connection/database.js'
import { MEMBER_COLUMNS, type MemberRow, toMember } from './member-row.js'

/** Place of the worst trouble in `TROUBLES`. In JSON text the sought release cannot be a part of a string. */
const RANK = `CASE
  WHEN m.state = 'revoked' OR m.state = 'member' AND k.revoked_at_us IS NOT NULL THEN 0
  WHEN m.state = 'left' THEN 10
  WHEN coalesce(m.last_seen_us, m.joined_at_us) < @silentBeforeUs THEN 1
  WHEN m.last_report ->> '$.ready' = 0 THEN 2
  WHEN m.outcome = 'put_back' OR instr(m.last_report, '"state":"rolled_back"') > 0 THEN 3
  WHEN m.last_report ->> '$.backlog.oldest_s' > ${BEHIND_S} THEN 4
  WHEN abs(m.last_report ->> '$.clock_us' - m.last_seen_us) > ${CLOCK_OFF_US} THEN 5
  WHEN m.last_report ->> '$.doctor' IS NOT NULL THEN 6
  WHEN m.outcome = 'partly' THEN 7
  WHEN m.applied_digest IS NOT (
    SELECT digest FROM fleet_profile AS p WHERE p.name = m.profile ORDER BY version DESC LIMIT 1) THEN 8
  ELSE 9 END`

const CHOSEN = `FROM fleet_member AS m JOIN api_key AS k USING (key_id)
  WHERE (@name IS NULL OR instr(lower(m.name), lower(@name)) > 0) AND (@profile IS NULL OR m.profile = @profile)`

/** Choice by the troubles, which are known to the query around. */
const OF_RANKS = '(@ranks IS NULL OR rank IN (SELECT value FROM json_each(@ranks)))'

const PAGE = (order: string) => `SELECT * FROM (SELECT ${MEMBER_COLUMNS}, ${RANK} AS rank ${CHOSEN})
  WHERE ${OF_RANKS} ORDER BY ${order}name, nodeId LIMIT @limit OFFSET @offset`

const COUNTS = `SELECT rank, count(*) AS gateways FROM (SELECT ${RANK} AS rank ${CHOSEN}) GROUP BY rank`

const POSITIONS = `SELECT * FROM (SELECT m.node_id AS nodeId, m.name, ${RANK} AS rank,
    m.last_report ->> '$.position[0]' AS lng, m.last_report ->> '$.position[1]' AS lat ${CHOSEN})
  WHERE ${OF_RANKS} AND lng IS NOT NULL AND lat IS NOT NULL ORDER BY rank, name, nodeId LIMIT @limit`

/** Creates the overview of the gateways of `state.db`. */
export function createFleetOverview(db: Db): FleetOverview {
  return {
    async page({ order, limit, offset, ...choice }) {
      const sql = PAGE(order === 'trouble' ? 'rank, ' : '')
      const rows = statement<MemberRow & { rank: number }>(db, sql).all({
        ...{ ...paramsOf(choice), ranks: ranksText(choice), offset },
        limit: limit ?? -1,
      })
      return rows.map(({ rank, ...row }) => ({ ...toMember(row), trouble: troubleAt(rank) }))
    },
    async count(choice) {
      const rows = statement<{ rank: number; gateways: number }>(db, COUNTS).all(paramsOf(choice))
      return allCounts(rows)
    },
    async positions(choice, limit) {
      const params = { ...paramsOf(choice), ranks: ranksText(choice), limit }
      const rows = statement<Omit<MemberPosition, 'trouble'> & { rank: number }>(db, POSITIONS).all(params)
      return rows.map(({ rank, ...row }) => ({ ...row, trouble: troubleAt(rank) }))
    },
  }
}

function paramsOf({ name, profile, nowUs }: MemberChoice) {
  return { name: name ?? null, profile: profile ?? null, silentBeforeUs: nowUs - SILENT_US }
}

function ranksText({ troubles }: MemberChoice): string | null {
  const ranks = ranksOf(troubles)
  return ranks === null ? null : JSON.stringify(ranks)
}
