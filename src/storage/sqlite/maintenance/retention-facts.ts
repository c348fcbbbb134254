import type { StoredRetention } from '../../maintenance.js'
import type { RetentionRule } from '../../retention.js'
import { type Db, identifier } from '../connection/database.js'
import { hasTable } from './database-facts.js'

/** Reads the rules by which rows go, with the time of the oldest row; none of an earlier schema. */
export function readRetention(db: Db): StoredRetention[] {
  if (!hasTable(db, 'loader_retention')) return []
  const rows = db
    .prepare<[], { dataName: string; tableName: string; rule: string }>(
      `SELECT data_name AS dataName, table_name AS tableName, rule FROM loader_retention JOIN loader_table USING (table_id)
       ORDER BY data_name`,
    )
    .all()
  return rows.map(({ dataName, tableName, rule }) => {
    const oldest = `SELECT min(coalesce(end_datetime, start_datetime)) FROM ${identifier(tableName)}
      WHERE coalesce(end_datetime, start_datetime) > ?`
    const { ageDays, dropsUnsent } = JSON.parse(rule) as RetentionRule // `setRule` wrote it
    const oldestUs = db.prepare<[bigint], number | null>(oldest).pluck().get(MIN_INT64) ?? null
    return { dataName, ageDays, dropsUnsent, oldestUs }
  })
}

const MIN_INT64 = -(2n ** 63n)
