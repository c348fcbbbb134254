import type { FleetSummary } from '../../exchange/fleet.js'
import { type Db, statement } from '../connection/database.js'

const COUNTS = `SELECT
  count(*) FILTER (WHERE state = 'left') AS "left",
  count(*) FILTER (WHERE state = 'revoked' OR k.revoked_at_us IS NOT NULL AND state = 'member') AS revoked,
  count(*) FILTER (WHERE is_member) AS member,
  count(*) FILTER (WHERE is_member AND coalesce(last_seen_us, joined_at_us) < @silentBeforeUs) AS silent,
  count(*) FILTER (WHERE is_member AND (
    last_report ->> '$.ready' = 0 OR outcome = 'put_back' OR instr(last_report, '"state":"rolled_back"') > 0)) AS trouble
  FROM (SELECT *, state = 'member' AND (SELECT revoked_at_us FROM api_key WHERE key_id = m.key_id) IS NULL AS is_member
    FROM fleet_member AS m) JOIN api_key AS k USING (key_id)`

/**
 * Counts the gateways of a hub. Cost: one look at each of them. In JSON text the sought member cannot be a part of a
 * string, where its quotation marks are escaped.
 *
 * @param silentBeforeUs members that have not reported since are silent, µs UTC
 */
export function readFleetSummary(db: Db, silentBeforeUs: number): FleetSummary {
  const row = statement<FleetSummary>(db, COUNTS).get({ silentBeforeUs })
  // no test: counts are always one row
  return row ?? { member: 0, left: 0, revoked: 0, silent: 0, trouble: 0 }
}
