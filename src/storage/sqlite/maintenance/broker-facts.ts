import type { BrokerStatus } from '../../ingest.js'
import type { StoredBroker } from '../../maintenance.js'
import type { Db } from '../connection/database.js'
import { hasTable } from './database-facts.js'

interface BrokerRow extends Omit<StoredBroker, 'status'> {
  readonly status: string | null
}

/** Reads what is noted of brokers, and their rejects since an instant, also of an earlier schema. */
export function readBrokers(db: Db, sinceUs: number): StoredBroker[] {
  if (!hasTable(db, 'ingest_broker')) return []
  const rows = db
    .prepare<[number], BrokerRow>(
      `SELECT name, status, noted_at_us AS notedAtUs, coalesce(r.count, 0) AS recentRejects,
         (SELECT reason FROM ingest_reject WHERE seq = r.last) AS lastReason
       FROM ingest_broker LEFT JOIN (
         SELECT broker, count(*) AS count, max(seq) AS last FROM ingest_reject WHERE at_us >= ? GROUP BY broker
       ) AS r ON r.broker = name
       ORDER BY name`,
    )
    .all(sinceUs)
  // `noteStatus` wrote it; null where filters alone are noted
  return rows.map((row) => ({ ...row, status: JSON.parse(row.status ?? 'null') as BrokerStatus | null }))
}
