import type {
  BrokerStatus,
  BusStatus,
  IngestStore,
  NotedBus,
  OutboxMessage,
  PublishCursor,
  Reject,
} from '../../ingest.js'
import { oneValue, statement } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface BrokerRow {
  name: string
  filters: string
  status: string | null
  notedAtUs: number | null
}

/** A row of `ingest_outbox`. */
interface OutboxRow extends Omit<OutboxMessage, 'isRetained'> {
  readonly isRetained: number
}

/** Creates what the ingest of messages keeps, in `state.db`. */
export function createIngestStore(state: StateDb): IngestStore {
  return { ...rejectsOf(state), ...brokersOf(state), ...busesOf(state), ...outboxOf(state) }
}

function rejectsOf(state: StateDb) {
  const { db } = state
  return {
    addRejects: (rejects: readonly Omit<Reject, 'seq'>[], maxRows: number) =>
      writeState(state, () => {
        const insert = statement(
          db,
          `INSERT INTO ingest_reject (at_us, broker, topic, reason, payload, payload_bytes)
           VALUES (?, ?, ?, ?, ?, ?)`,
        )
        for (const { atUs, broker, topic, reason, payload, payloadBytes } of rejects)
          insert.run(atUs, broker, topic, reason, payload, payloadBytes)
        // numbers are given without gaps, so that the oldest are those far below the last
        const sql = 'DELETE FROM ingest_reject WHERE seq <= (SELECT max(seq) FROM ingest_reject) - ?'
        statement(db, sql).run(maxRows)
      }),
    listRejects: async (limit: number, broker?: string) =>
      statement<Reject>(
        db,
        `SELECT seq, at_us AS atUs, broker, topic, reason, payload, payload_bytes AS payloadBytes
         FROM ingest_reject WHERE broker = coalesce(?, broker) ORDER BY seq DESC LIMIT ?`,
      ).all(broker ?? null, limit),
    countRejects: async () => oneValue<number>(db, 'SELECT count(*) FROM ingest_reject'),
    clearRejects: () => writeFreeing(state, () => statement(db, 'DELETE FROM ingest_reject').run().changes),
  }
}

function brokersOf(state: StateDb) {
  const { db } = state
  return {
    async brokers() {
      const sql = 'SELECT name, filters, status, noted_at_us AS notedAtUs FROM ingest_broker ORDER BY name'
      return statement<BrokerRow>(db, sql)
        .all()
        .map(({ name, filters, status, notedAtUs }) => ({
          name,
          filters: JSON.parse(filters) as string[], // `noteFilters` wrote it
          // no test: filters are noted after the first status
          status: status === null ? null : (JSON.parse(status) as BrokerStatus), // `noteStatus` wrote it
          notedAtUs,
        }))
    },
    noteFilters: (broker: string, filters: readonly string[]) =>
      writeState(state, () => {
        const sql = `INSERT INTO ingest_broker (name, filters) VALUES (?, ?)
          ON CONFLICT DO UPDATE SET filters = excluded.filters`
        statement(db, sql).run(broker, JSON.stringify(filters))
      }),
    noteStatus: (broker: string, status: BrokerStatus, nowUs: number) =>
      writeState(state, () => {
        const sql = `INSERT INTO ingest_broker (name, filters, status, noted_at_us) VALUES (?, '[]', ?, ?)
          ON CONFLICT DO UPDATE SET status = excluded.status, noted_at_us = excluded.noted_at_us`
        statement(db, sql).run(broker, JSON.stringify(status), nowUs)
      }),
    forgetBroker: (broker: string) =>
      writeState(state, () => {
        for (const sql of [
          'DELETE FROM ingest_broker WHERE name = ?',
          'DELETE FROM ingest_outbox WHERE broker = ?',
        ])
          statement(db, sql).run(broker)
      }),
    async cursor(name: string) {
      const sql = 'SELECT table_id AS tableId, change FROM ingest_cursor WHERE name = ?'
      return statement<PublishCursor>(db, sql).get(name)
    },
    noteCursor: (name: string, { tableId, change }: PublishCursor) =>
      writeState(state, () => {
        const sql = `INSERT INTO ingest_cursor (name, table_id, change) VALUES (?, ?, ?)
          ON CONFLICT DO UPDATE SET table_id = excluded.table_id, change = excluded.change`
        statement(db, sql).run(name, tableId, change)
      }),
  }
}

function busesOf(state: StateDb) {
  const { db } = state
  return {
    async buses() {
      const sql = 'SELECT name, status, noted_at_us AS notedAtUs FROM ingest_bus ORDER BY name'
      return statement<Omit<NotedBus, 'status'> & { status: string }>(db, sql)
        .all()
        .map((row) => ({ ...row, status: JSON.parse(row.status) as BusStatus })) // `noteBus` wrote it
    },
    noteBus: (name: string, status: BusStatus, nowUs: number) =>
      writeState(state, () => {
        const sql = `INSERT INTO ingest_bus (name, status, noted_at_us) VALUES (?, ?, ?)
          ON CONFLICT DO UPDATE SET status = excluded.status, noted_at_us = excluded.noted_at_us`
        statement(db, sql).run(name, JSON.stringify(status), nowUs)
      }),
    forgetBus: (name: string) =>
      writeState(state, () => {
        statement(db, 'DELETE FROM ingest_bus WHERE name = ?').run(name)
      }),
  }
}

function outboxOf(state: StateDb) {
  const { db } = state
  return {
    addToOutbox: (broker: string, message: Omit<OutboxMessage, 'seq'>, maxRows: number) =>
      writeState(state, () => {
        const { topic, payload, qos, isRetained } = message
        statement(
          db,
          'INSERT INTO ingest_outbox (broker, topic, payload, qos, is_retained) VALUES (?, ?, ?, ?, ?)',
        ).run(broker, topic, payload, qos, isRetained ? 1 : 0)
        const sql = `DELETE FROM ingest_outbox WHERE seq IN
          (SELECT seq FROM ingest_outbox WHERE broker = ? ORDER BY seq DESC LIMIT -1 OFFSET ?)`
        return statement(db, sql).run(broker, maxRows).changes
      }),
    async outboxOf(broker: string, limit: number) {
      const sql = `SELECT seq, topic, payload, qos, is_retained AS isRetained FROM ingest_outbox
        WHERE broker = ? ORDER BY seq LIMIT ?`
      return statement<OutboxRow>(db, sql)
        .all(broker, limit)
        .map((row) => ({ ...row, isRetained: row.isRetained === 1 }))
    },
    removeFromOutbox: (seqs: readonly number[]) =>
      writeState(state, () => {
        for (const seq of seqs) statement(db, 'DELETE FROM ingest_outbox WHERE seq = ?').run(seq)
      }),
    countOutbox: async (broker: string) =>
      oneValue<number>(db, 'SELECT count(*) FROM ingest_outbox WHERE broker = ?', broker),
  }
}
