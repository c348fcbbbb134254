import type { StoredTrigger } from '../../maintenance.js'
import type { TriggerRunFacts } from '../../triggers.js'
import type { Db } from '../connection/database.js'
import { hasTable } from './database-facts.js'

interface TriggerRow {
  name: string
  isEnabled: number
  atUs: number | null
  facts: string | null
  missed: number
}

/** Reads the triggers with their last run and the times that were missed since an instant, also of an earlier schema. */
export function readTriggers(db: Db, sinceUs: number): StoredTrigger[] {
  if (!hasTable(db, 'module_trigger')) return []
  const rows = db
    .prepare<[number], TriggerRow>(
      `SELECT name, is_enabled AS isEnabled, r.started_at_us AS atUs, r.facts, (
           SELECT coalesce(sum(count), 0) FROM module_trigger_run AS m
           WHERE m.trigger_name = t.name AND m.until_us >= ? AND m.facts ->> '$.state' = 'missed') AS missed
       FROM module_trigger AS t LEFT JOIN module_trigger_run AS r ON r.seq = (
           SELECT max(seq) FROM module_trigger_run AS x WHERE x.trigger_name = t.name AND x.started_at_us IS NOT NULL)
       ORDER BY name`,
    )
    .all(sinceUs)
  return rows.map(({ name, isEnabled, atUs, facts, missed }) => {
    const last = facts === null ? null : (JSON.parse(facts) as TriggerRunFacts) // `TriggerStore` wrote it
    return {
      ...{ name, isEnabled: isEnabled === 1, missed },
      last: last === null || atUs === null ? null : { atUs, state: last.state, message: last.message },
    }
  })
}
