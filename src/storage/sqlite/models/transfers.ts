import type {
  Backlog,
  Lane,
  TransferKind,
  TransferNote,
  TransferRecord,
  TransferRows,
  TransferState,
} from '../../models/transfers.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { queueFeedback, requeue } from './transfer-queue.js'

interface TransferRow {
  transfer_id: number
  kind: TransferKind
  model_id: string | null
  store_id: number
  upstream_id: number
  state: TransferState
  attempts: number
  bytes_sent: number
  size_bytes: number | null
  next_attempt_us: number | null
  last_error: string | null
  last_error_name: string | null
  created_at_us: number
  finished_at_us: number | null
  may_be_received: number
  resume_url: string | null
  answer: string | null
  delta: string | null
  saved_bytes: number
}

const FIELDS: ListFields = {
  id: { sql: 't.transfer_id', type: 'int8' },
  kind: { sql: 't.kind', type: 'text' },
  model_id: { sql: 't.model_id', type: 'text' },
  upstream_id: { sql: 't.upstream_id', type: 'int8' },
  model_store_ddc: {
    sql: '(SELECT s.name FROM model_store s WHERE s.store_id = t.store_id)',
    type: 'text',
  },
  state: { sql: 't.state', type: 'text' },
  attempts: { sql: 't.attempts', type: 'int8' },
  bytes_sent: { sql: 't.bytes_sent', type: 'int8' },
  size: { sql: 't.size_bytes', type: 'int8' },
  bytes_saved: { sql: 't.saved_bytes', type: 'int8' },
  last_error: { sql: 't.last_error', type: 'text' },
  created_at: { sql: 't.created_at_us', type: 'timestamptz' },
  finished_at: { sql: 't.finished_at_us', type: 'timestamptz' },
}

/** Condition of a transfer that is neither delivered nor failed. */
const WAITS = `state IN ('queued', 'sending')`

/** Creates the outbox of `state.db`. */
export function createTransferRows(state: StateDb, clock: TrustedClock): TransferRows {
  return { ...transferReads(state), ...transferWrites(state, clock) }
}

type ReadName = 'find' | 'list' | 'lanes' | 'waiting' | 'backlog' | 'counts' | 'deliveredIds'

function transferReads(state: StateDb): Pick<TransferRows, ReadName> {
  const { db } = state
  return {
    find: async (transferId) => findTransfer(state, transferId),
    async list(query) {
      const tail = listTail(FIELDS, 't.transfer_id', query)
      const rows = queryOnce<TransferRow>(db, `SELECT t.* FROM transfer t WHERE ${tail.sql}`, tail.values)
      return rows.map(toTransferRecord)
    },
    lanes: async () => statement<Lane>(db, LANES).all(),
    async waiting({ upstreamId, kind }, limit) {
      const rows = statement<TransferRow>(
        db,
        `SELECT * FROM transfer WHERE upstream_id = ? AND kind = ? AND ${WAITS} AND state = 'queued'
         ORDER BY transfer_id LIMIT ?`,
      ).all(upstreamId, kind, limit)
      return rows.map(toTransferRecord)
    },
    backlog: async () => listBacklog(state),
    counts: async () => countStates(state),
    deliveredIds: async (upstreamId, remoteIds) => deliveredIds(state, upstreamId, remoteIds),
  }
}

function transferWrites(state: StateDb, clock: TrustedClock): Omit<TransferRows, ReadName> {
  const { db } = state
  const write = <T>(work: () => T) => writeState(state, work)
  const change = (sql: string, ...values: unknown[]) => statement(db, sql).run(...values).changes
  return {
    queueFeedback: (model, upstreamId) =>
      write(() => writtenRow(findTransfer(state, queueFeedback(state, clock, model, upstreamId)))),
    queueFetch: (storeId, upstreamId) => write(() => queueFetch(state, clock, storeId, upstreamId)),
    begin: (transferId) => write(() => change(BEGIN, transferId) === 1),
    note: (transferId, noted) => write(() => noteTransfer(state, transferId, noted)),
    async putBack(transferId, fault, nextAttemptUs) {
      const message = fault?.message ?? null
      await write(() => change(PUT_BACK, nextAttemptUs, message, fault?.name ?? null, transferId))
    },
    async fail(transferId, fault) {
      await write(() => change(FAIL, fault.message, fault.name, clock.nowUs(), transferId))
    },
    async discardFetch(transferId) {
      await writeFreeing(state, () => change(DISCARD_FETCH, transferId))
    },
    async deliver(transferId, answer) {
      await write(() => change(DELIVER, answer, clock.nowUs(), transferId))
    },
    retry: (transferId) =>
      write(() => {
        requeue(db, transferId)
        return findTransfer(state, transferId)
      }),
    cancel: (transferId) =>
      writeFreeing(state, () => {
        change(FAIL, 'cancelled by an operator', 'CANCELLED', clock.nowUs(), transferId)
        return findTransfer(state, transferId)
      }),
    cancelOfUpstream: (upstreamId) =>
      writeFreeing(state, () => change(FAIL_OF_UPSTREAM, clock.nowUs(), upstreamId)),
    recover: () => write(() => change(`UPDATE transfer SET state = 'queued' WHERE state = 'sending'`)),
  }
}

/** Lanes with a queued transfer. EXISTS reads one row per lane, so the cost does not grow with the outbox. */
const LANES = `SELECT u.upstream_id AS "upstreamId", k.column1 AS kind
  FROM upstream u CROSS JOIN (VALUES ('feedback'), ('fetch')) k
  WHERE EXISTS (SELECT 1 FROM transfer t WHERE t.upstream_id = u.upstream_id AND t.kind = k.column1
    AND t.state IN ('queued', 'sending') AND t.state = 'queued')
  ORDER BY 1, 2`
const BEGIN = `UPDATE transfer SET state = 'sending', attempts = attempts + 1, next_attempt_us = NULL
  WHERE transfer_id = ? AND state = 'queued'`
const PUT_BACK = `UPDATE transfer SET state = 'queued', next_attempt_us = ?, last_error = coalesce(?, last_error),
  last_error_name = coalesce(?, last_error_name) WHERE transfer_id = ? AND state = 'sending'`
/** A delivered transfer stays delivered: both statements exclude it by its state. */
const FAIL = `UPDATE transfer SET state = 'failed', last_error = ?, last_error_name = ?, finished_at_us = ?,
  next_attempt_us = NULL WHERE transfer_id = ? AND ${WAITS}`
const DISCARD_FETCH = `DELETE FROM transfer WHERE transfer_id = ? AND kind = 'fetch' AND state = 'failed'
  AND last_error_name = 'NO_AGGREGATED_MODEL'`
const FAIL_OF_UPSTREAM = `UPDATE transfer SET state = 'failed', last_error = 'its upstream information was deleted',
  last_error_name = 'NO_UPSTREAM', finished_at_us = ? WHERE upstream_id = ? AND ${WAITS}`
const DELIVER = `UPDATE transfer SET state = 'delivered', answer = ?, finished_at_us = ?,
  bytes_sent = coalesce(delta ->> '$.sizeBytes', size_bytes, bytes_sent),
  next_attempt_us = NULL, last_error = NULL, last_error_name = NULL, resume_url = NULL
  WHERE transfer_id = ? AND state <> 'delivered'`

function findTransfer({ db }: StateDb, transferId: number): TransferRecord | undefined {
  const row = statement<TransferRow>(db, 'SELECT * FROM transfer WHERE transfer_id = ?').get(transferId)
  return row === undefined ? undefined : toTransferRecord(row)
}

function toTransferRecord(row: TransferRow): TransferRecord {
  return {
    transferId: row.transfer_id,
    kind: row.kind,
    modelId: row.model_id,
    storeId: row.store_id,
    upstreamId: row.upstream_id,
    state: row.state,
    attempts: row.attempts,
    bytesSent: row.bytes_sent,
    sizeBytes: row.size_bytes,
    nextAttemptUs: row.next_attempt_us,
    lastError: row.last_error,
    lastErrorName: row.last_error_name,
    createdAtUs: row.created_at_us,
    finishedAtUs: row.finished_at_us,
    mayBeReceived: row.may_be_received === 1,
    resumeUrl: row.resume_url,
    answer: row.answer,
    delta: row.delta === null ? null : JSON.parse(row.delta), // written by `noteTransfer`
    savedBytes: row.saved_bytes,
  }
}

/** Returns the waiting fetch of an upstream, or inserts one. The caller holds the transaction. */
function queueFetch(
  state: StateDb,
  clock: TrustedClock,
  storeId: number,
  upstreamId: number,
): TransferRecord {
  const { db } = state
  const waiting = statement<TransferRow>(
    db,
    `SELECT * FROM transfer WHERE upstream_id = ? AND kind = 'fetch' AND ${WAITS} ORDER BY transfer_id LIMIT 1`,
  ).get(upstreamId)
  if (waiting !== undefined) return toTransferRecord(waiting)
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO transfer (kind, store_id, upstream_id, state, created_at_us) VALUES ('fetch', ?, ?, 'queued', ?)`,
  ).run(storeId, upstreamId, clock.nowUs())
  const row = statement<TransferRow>(db, 'SELECT * FROM transfer WHERE transfer_id = ?').get(lastInsertRowid)
  return toTransferRecord(writtenRow(row))
}

function noteTransfer({ db }: StateDb, transferId: number, noted: TransferNote): void {
  const set = (column: string, value: unknown) =>
    statement(db, `UPDATE transfer SET ${column} = ? WHERE transfer_id = ?`).run(value, transferId)
  if (noted.bytesSent !== undefined) set('bytes_sent', noted.bytesSent)
  if (noted.sizeBytes !== undefined) set('size_bytes', noted.sizeBytes)
  if (noted.mayBeReceived !== undefined) set('may_be_received', noted.mayBeReceived ? 1 : 0)
  if (noted.resumeUrl !== undefined) set('resume_url', noted.resumeUrl)
  if (noted.answer !== undefined) set('answer', noted.answer)
  if (noted.delta !== undefined) set('delta', noted.delta === null ? null : JSON.stringify(noted.delta))
  if (noted.savedBytes !== undefined) set('saved_bytes', noted.savedBytes)
}

function listBacklog({ db }: StateDb): Backlog[] {
  return statement<Backlog>(
    db,
    `SELECT upstream_id AS "upstreamId", kind, count(*) AS count, min(created_at_us) AS "oldestUs",
       sum(max(coalesce(delta ->> '$.sizeBytes', size_bytes, 0) - bytes_sent, 0)) AS bytes
     FROM transfer WHERE ${WAITS} GROUP BY upstream_id, kind ORDER BY 1, 2`,
  ).all()
}

function countStates({ db }: StateDb): Record<TransferState, number> {
  const rows = statement<{ state: TransferState; n: number }>(
    db,
    'SELECT state, count(*) AS n FROM transfer GROUP BY state',
  ).all()
  const counts = { queued: 0, sending: 0, delivered: 0, failed: 0 }
  for (const { state, n } of rows) counts[state] = n
  return counts
}

function deliveredIds({ db }: StateDb, upstreamId: number, remoteIds: readonly string[]): Set<string> {
  const rows = statement<{ id: string }>(
    db,
    `SELECT answer ->> '$.model_id' AS id FROM transfer
     WHERE upstream_id = ? AND kind = 'feedback' AND state = 'delivered'
       AND answer ->> '$.model_id' IN (SELECT value FROM json_each(?))`,
  ).all(upstreamId, JSON.stringify(remoteIds))
  return new Set(rows.map(({ id }) => id))
}
