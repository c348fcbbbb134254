import type { BrokerStatus, BusStatus } from '../../ingest.js'
import type { StoredBroker, StoredBus } from '../../maintenance.js'
import type { Db } from '../connection/database.js'
import { hasTable } from './database-facts.js'

interface BrokerRow extends Omit<StoredBroker, 'status'> {
  readonly status: string | null
}

/** Reads what is noted of brokers, and their rejects since an instant, also of an earlier schema. */
export function readBrokers(db: Db, sinceUs: number): StoredBroker[] {
  if (!hasTable(db, 'ingest_broker')) return []
  const rows = db.prepare<[number], BrokerRow>(notedSql('ingest_broker')).all(sinceUs)
  // `noteStatus` wrote it; null where filters alone are noted
  return rows.map((row) => ({ ...row, status: JSON.parse(row.status ?? 'null') as BrokerStatus | null }))
}

/** Reads what is noted of buses, and their rejects since an instant, also of an earlier schema. */
export function readBuses(db: Db, sinceUs: number): StoredBus[] {
  if (!hasTable(db, 'ingest_bus')) return []
  const rows = db
    .prepare<[number], Omit<StoredBus, 'status'> & { status: string }>(notedSql('ingest_bus'))
    .all(sinceUs)
  return rows.map((row) => ({ ...row, status: JSON.parse(row.status) as BusStatus })) // `noteBus` wrote it
}

function notedSql(table: 'ingest_broker' | 'ingest_bus'): string {
  return `SELECT name, status, noted_at_us AS notedAtUs, coalesce(r.count, 0) AS recentRejects,
      (SELECT reason FROM ingest_reject WHERE seq = r.last) AS lastReason
    FROM ${table} LEFT JOIN (
      SELECT broker, count(*) AS count, max(seq) AS last FROM ingest_reject WHERE at_us >= ? GROUP BY broker
    ) AS r ON r.broker = name
    ORDER BY name`
}
