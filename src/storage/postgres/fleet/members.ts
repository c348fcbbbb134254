import type { FleetMembers, FleetSummary, NewReport, RolloutMember } from '../../exchange/fleet.js'
import type { FleetOverview } from '../../exchange/fleet-overview.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresKeys } from '../access/keys.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'
import { createJoining } from './join.js'
import { findMember, findMembers, listMembers } from './member-row.js'
import { createFleetOverview } from './overview.js'
import { readReportFacts } from './report-facts.js'

/** Time that one kept report stands for, µs. */
const SLOT_US = 600_000_000
const DAY_US = 86_400_000_000

const OF_PROFILES = `SELECT m.profile, m.node_id AS "nodeId", m.applied_digest AS "appliedDigest",
  m.tried_digest AS "triedDigest", m.outcome, m.last_seen_us AS "lastSeenUs", m.tried_at_us AS "triedAtUs",
  m.is_ready AS "isReady", m.release
  FROM fleet_member AS m JOIN api_key AS k USING (key_id)
  WHERE m.profile = ANY ($1::text[]) AND m.state = 'member' AND k.revoked_at_us IS NULL`

/** Members whose key an operator revoked count as revoked. */
const SUMMARY = `SELECT
  count(*) FILTER (WHERE is_member) AS member,
  count(*) FILTER (WHERE state = 'left') AS "left",
  count(*) FILTER (WHERE state = 'revoked' OR state = 'member' AND NOT is_member) AS revoked,
  count(*) FILTER (WHERE is_member AND coalesce(last_seen_us, joined_at_us) < $1) AS silent,
  count(*) FILTER (WHERE is_member AND (NOT is_ready OR has_rollback OR outcome IS NOT DISTINCT FROM 'put_back'))
    AS trouble
  FROM (SELECT m.*, m.state = 'member' AND k.revoked_at_us IS NULL AS is_member
    FROM fleet_member AS m JOIN api_key AS k USING (key_id)) AS counted`

/** Creates the gateways of a hub. */
export function createFleetMembers(
  db: PostgresDb,
  clock: TrustedClock,
  keys: PostgresKeys,
): FleetMembers & FleetOverview {
  const find = (nodeId: string) => findMember(db.read, nodeId)
  // while a version is tried, each report asks for all members
  const ofProfiles = readTogether(async (profiles) => {
    const found = await db.read.all<RolloutMember & { profile: string }>(OF_PROFILES, [...profiles])
    return Map.groupBy(found, ({ profile }) => profile)
  })
  const ofKeys = readTogether((keyIds) => findMembers(db.read, keyIds))
  return {
    ...createFleetOverview(db.read),
    join: createJoining(db, clock),
    find,
    ofKey: ofKeys,
    async summary(silentBeforeUs) {
      const row = await db.read.get<FleetSummary>(SUMMARY, silentBeforeUs)
      // no test: counts are always one row
      return row ?? { member: 0, left: 0, revoked: 0, silent: 0, trouble: 0 }
    },
    list: () => listMembers(db.read),
    ofProfile: async (profile) => (await ofProfiles(profile)) ?? [],
    end: (nodeId, to) =>
      db.write(async (rows) => {
        await lockMember(rows, nodeId)
        const member = await findMember(rows, nodeId)
        if (member === undefined) return undefined
        await keys.revokeNow(rows, member.keyId)
        const update = `UPDATE fleet_member SET state = $2, ended_at_us = coalesce(ended_at_us, $3) WHERE node_id = $1`
        // a gateway that was revoked stays so, also when it leaves
        if (member.state !== 'revoked') await rows.run(update, nodeId, to, clock.nowUs())
        return await findMember(rows, nodeId)
      }),
    async forget(nodeId) {
      const member = await find(nodeId)
      if (member === undefined || member.state === 'member') return undefined
      const isGone = await db.write(async (rows, { isRepeat }) => {
        // of the membership that was seen: one that joined again since has another key
        const remove = 'DELETE FROM fleet_member WHERE node_id = $1 AND key_id = $2'
        return (await rows.run(remove, nodeId, member.keyId)) > 0 || isRepeat
      })
      // no test: another process would have to forget it, or take it in, since the first line
      return isGone ? member : undefined
    },
    report: (nodeId, report) => db.write((rows) => addReport(rows, nodeId, report, clock.nowUs())),
    async reports(nodeId) {
      const rows = await db.read.all<{ atUs: number; body: string }>(
        'SELECT at_us AS "atUs", body FROM fleet_report WHERE node_id = $1 ORDER BY slot DESC',
        nodeId,
      )
      return rows.map(({ atUs, body }) => ({ atUs, report: JSON.parse(body) }))
    },
  }
}

/** Makes changes of a membership take turns, in all processes. */
async function lockMember(rows: Rows, nodeId: string): Promise<void> {
  await rows.run('SELECT 1 FROM fleet_member WHERE node_id = $1 FOR UPDATE', nodeId)
}

/**
 * Notes a report and removes old ones; reports of a clock that was ahead go, too. The time of a version begins when its
 * release runs, so the facts on the right are those of before.
 */
const NOTE_REPORT = `WITH noted AS (
    UPDATE fleet_member SET
      tried_at_us = CASE WHEN tried_digest IS NOT DISTINCT FROM $2 AND release IS NULL THEN tried_at_us ELSE $3 END,
      tried_digest = $2, last_seen_us = $3, applied_digest = $4, outcome = $5, last_report = $6, is_ready = $7,
      release = $8, has_rollback = $9, oldest_s = $10, clock_us = $11, has_finding = $12, lng = $13, lat = $14
    WHERE node_id = $1 RETURNING node_id
  ), gone AS (
    DELETE FROM fleet_report WHERE node_id = $1 AND (slot <= $16 OR slot > $15)
  )
  INSERT INTO fleet_report (node_id, slot, at_us, body) SELECT node_id, $15, $3, $6 FROM noted
    ON CONFLICT (node_id, slot) DO UPDATE SET at_us = excluded.at_us, body = excluded.body RETURNING slot`

async function addReport(
  rows: Rows,
  nodeId: string,
  { appliedDigest, triedDigest, outcome, report }: NewReport,
  nowUs: number,
): Promise<void> {
  const text = JSON.stringify(report)
  const facts = readReportFacts(report, text)
  const slot = Math.floor(nowUs / SLOT_US)
  const noted = await rows.all(
    NOTE_REPORT,
    ...[nodeId, triedDigest, nowUs, appliedDigest, outcome, text],
    ...[facts.isReady, facts.release, facts.hasRollback, facts.oldestS, facts.clockUs, facts.hasFinding],
    ...facts.position,
    ...[slot, slot - DAY_US / SLOT_US],
  )
  if (noted.length === 0) throw new Error(`found no gateway ${nodeId} for its report, expected one`)
}
