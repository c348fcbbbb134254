import { randomUUID } from 'node:crypto'
import type {
  Backlog,
  Lane,
  TransferNote,
  TransferRecord,
  TransferRows,
  TransferState,
} from '../../models/transfers.js'
import type { TrustedClock } from '../../work/clock.js'
import { readStoredText, storedText } from '../connection/any-text.js'
import { countChanged } from '../connection/count-changed.js'
import type { PostgresDb, Rows, Value } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'
import { type ListFields, listTail } from '../lists/list-tail.js'
import { queueFeedback, requeue } from './transfer-queue.js'

type TransferRow = Omit<TransferRecord, 'delta'> & { delta: string | null }

const FIELDS: ListFields = {
  id: { sql: 't.transfer_id', type: 'int8' },
  kind: { sql: 't.kind', type: 'text' },
  model_id: { sql: 't.model_id', type: 'text' },
  upstream_id: { sql: 't.upstream_id', type: 'int8' },
  model_store_ddc: {
    sql: '(SELECT s.name FROM model_store AS s WHERE s.store_id = t.store_id)',
    type: 'text',
  },
  state: { sql: 't.state', type: 'text' },
  attempts: { sql: 't.attempts', type: 'int8' },
  bytes_sent: { sql: 't.bytes_sent', type: 'int8' },
  size: { sql: 't.size_bytes', type: 'int8' },
  bytes_saved: { sql: 't.saved_bytes', type: 'int8' },
  last_error: { sql: 't.last_error', type: 'text', isAnyText: true },
  created_at: { sql: 't.created_at_us', type: 'timestamptz' },
  finished_at: { sql: 't.finished_at_us', type: 'timestamptz' },
}

const SELECT = `SELECT t.transfer_id AS "transferId", t.kind, t.model_id AS "modelId", t.store_id AS "storeId",
    t.upstream_id AS "upstreamId", t.state, t.attempts, t.bytes_sent AS "bytesSent", t.size_bytes AS "sizeBytes",
    t.next_attempt_us AS "nextAttemptUs", t.last_error AS "lastError", t.last_error_name AS "lastErrorName",
    t.created_at_us AS "createdAtUs", t.finished_at_us AS "finishedAtUs", t.may_be_received AS "mayBeReceived",
    t.resume_url AS "resumeUrl", t.answer, t.delta, t.saved_bytes AS "savedBytes"
  FROM transfer AS t`

/** Condition of a transfer that is neither delivered nor failed. */
const WAITS = `state IN ('queued', 'sending')`

/** Creates the outbox. */
export function createTransferRows(db: PostgresDb, clock: TrustedClock): TransferRows {
  return { ...transferReads(db), ...transferWrites(db, clock) }
}

type ReadName = 'find' | 'list' | 'lanes' | 'waiting' | 'backlog' | 'counts' | 'deliveredIds'

function transferReads({ read }: PostgresDb): Pick<TransferRows, ReadName> {
  return {
    find: (transferId) => findTransfer(read, transferId),
    async list(query) {
      const { sql, values } = listTail(FIELDS, 't.transfer_id', query)
      return (await read.once<TransferRow>(`${SELECT} WHERE ${sql}`, ...values)).map(toTransferRecord)
    },
    lanes: () => read.all<Lane>(LANES),
    async waiting({ upstreamId, kind }, limit) {
      const text = `${SELECT} WHERE t.upstream_id = $1 AND t.kind = $2 AND t.${WAITS} AND t.state = 'queued'
        ORDER BY t.transfer_id LIMIT $3`
      return (await read.all<TransferRow>(text, upstreamId, kind, limit)).map(toTransferRecord)
    },
    backlog: () => read.all<Backlog>(BACKLOG),
    async counts() {
      const counted = 'SELECT state, count(*) AS n FROM transfer GROUP BY state'
      const counts = { queued: 0, sending: 0, delivered: 0, failed: 0 }
      for (const { state, n } of await read.all<{ state: TransferState; n: number }>(counted))
        counts[state] = n
      return counts
    },
    async deliveredIds(upstreamId, remoteIds) {
      const ids = remoteIds.map(storedText)
      const found = await read.all<{ id: string }>(DELIVERED_IDS, upstreamId, ids)
      return new Set(found.map(({ id }) => readStoredText(id)))
    },
  }
}

function transferWrites(db: PostgresDb, clock: TrustedClock): Omit<TransferRows, ReadName> {
  const change = async (text: string, ...values: Value[]) => {
    await db.write((rows) => rows.run(text, ...values))
  }
  return {
    queueFeedback: (model, upstreamId) =>
      db.write(async (rows) =>
        writtenRow(await findTransfer(rows, await queueFeedback(rows, clock, model, upstreamId))),
      ),
    queueFetch: (storeId, upstreamId) =>
      db.write((rows) => queueFetch(rows, clock, { schema: db.schema, storeId, upstreamId })),
    begin(transferId) {
      const begunBy = randomUUID()
      return db.write(async (rows, { isRepeat }) => {
        if ((await rows.run(BEGIN, transferId, begunBy)) === 1) return true
        const own = `SELECT 1 FROM transfer WHERE transfer_id = $1 AND begun_by = $2 AND state = 'sending'`
        return isRepeat && (await rows.get(own, transferId, begunBy)) !== undefined
      })
    },
    note: (transferId, noted) => noteTransfer(db, transferId, noted),
    putBack(transferId, fault, nextAttemptUs) {
      const message = fault === null ? null : storedText(fault.message)
      return change(PUT_BACK, transferId, nextAttemptUs, message, fault?.name ?? null)
    },
    fail: (transferId, fault) =>
      change(FAIL, transferId, storedText(fault.message), fault.name, clock.nowUs()),
    discardFetch: (transferId) => change(DISCARD_FETCH, transferId),
    deliver: (transferId, answer) =>
      change(DELIVER, transferId, storedText(answer), modelIdOf(answer), clock.nowUs()),
    retry: (transferId) =>
      db.write(async (rows) => {
        await requeue(rows, transferId)
        return await findTransfer(rows, transferId)
      }),
    cancel: (transferId) =>
      db.write(async (rows) => {
        await rows.run(FAIL, transferId, 'cancelled by an operator', 'CANCELLED', clock.nowUs())
        return await findTransfer(rows, transferId)
      }),
    cancelOfUpstream: (upstreamId) =>
      countChanged(db, (rows) => changedIds(rows, FAIL_OF_UPSTREAM, upstreamId, clock.nowUs())),
    recover: () => countChanged(db, (rows) => changedIds(rows, RECOVER)),
  }
}

/** Lanes with a queued transfer. EXISTS reads one row per lane, so the cost does not grow with the outbox. */
const LANES = `SELECT u.upstream_id AS "upstreamId", k.kind FROM upstream AS u
  CROSS JOIN (VALUES ('feedback'), ('fetch')) AS k (kind)
  WHERE EXISTS (SELECT 1 FROM transfer AS t WHERE t.upstream_id = u.upstream_id AND t.kind = k.kind
    AND t.${WAITS} AND t.state = 'queued')
  ORDER BY 1, 2`
const BACKLOG = `SELECT upstream_id AS "upstreamId", kind, count(*) AS count, min(created_at_us) AS "oldestUs",
    sum(greatest(coalesce(delta_bytes, size_bytes, 0) - bytes_sent, 0))::bigint AS bytes
  FROM transfer WHERE ${WAITS} GROUP BY upstream_id, kind ORDER BY 1, 2`
const DELIVERED_IDS = `SELECT DISTINCT answer_model_id AS id FROM transfer
  WHERE upstream_id = $1 AND kind = 'feedback' AND state = 'delivered' AND answer_model_id = ANY($2::text[])`
const BEGIN = `UPDATE transfer SET state = 'sending', begun_by = $2, attempts = attempts + 1, next_attempt_us = NULL
  WHERE transfer_id = $1 AND state = 'queued'`
const PUT_BACK = `UPDATE transfer SET state = 'queued', next_attempt_us = $2, last_error = coalesce($3, last_error),
  last_error_name = coalesce($4, last_error_name) WHERE transfer_id = $1 AND state = 'sending'`
/** A delivered transfer stays delivered: both statements exclude it by its state. */
const FAIL = `UPDATE transfer SET state = 'failed', last_error = $2, last_error_name = $3, finished_at_us = $4,
  next_attempt_us = NULL WHERE transfer_id = $1 AND ${WAITS}`
const FAIL_OF_UPSTREAM = `UPDATE transfer SET state = 'failed', last_error = 'its upstream information was deleted',
  last_error_name = 'NO_UPSTREAM', finished_at_us = $2 WHERE upstream_id = $1 AND ${WAITS} RETURNING transfer_id AS id`
const RECOVER = `UPDATE transfer SET state = 'queued' WHERE state = 'sending' RETURNING transfer_id AS id`
const DISCARD_FETCH = `DELETE FROM transfer WHERE transfer_id = $1 AND kind = 'fetch' AND state = 'failed'
  AND last_error_name = 'NO_AGGREGATED_MODEL'`
const DELIVER = `UPDATE transfer SET state = 'delivered', answer = $2, answer_model_id = $3, finished_at_us = $4,
  bytes_sent = coalesce(delta_bytes, size_bytes, bytes_sent),
  next_attempt_us = NULL, last_error = NULL, last_error_name = NULL, resume_url = NULL
  WHERE transfer_id = $1 AND state <> 'delivered'`

async function changedIds(rows: Rows, text: string, ...values: Value[]): Promise<number[]> {
  return (await rows.all<{ id: number }>(text, ...values)).map(({ id }) => id)
}

async function findTransfer(rows: Rows, transferId: number): Promise<TransferRecord | undefined> {
  const row = await rows.get<TransferRow>(`${SELECT} WHERE t.transfer_id = $1`, transferId)
  return row === undefined ? undefined : toTransferRecord(row)
}

function toTransferRecord(row: TransferRow): TransferRecord {
  const { lastError, resumeUrl, answer, delta } = row
  return {
    ...row,
    lastError: lastError === null ? null : readStoredText(lastError),
    resumeUrl: resumeUrl === null ? null : readStoredText(resumeUrl),
    answer: answer === null ? null : readStoredText(answer),
    delta: delta === null ? null : JSON.parse(delta), // written by `noteTransfer`
  }
}

/** Returns the waiting fetch of an upstream, or inserts one. */
async function queueFetch(
  rows: Rows,
  clock: TrustedClock,
  { schema, storeId, upstreamId }: { schema: string; storeId: number; upstreamId: number },
): Promise<TransferRecord> {
  // one fetch of an upstream waits at a time, whichever process asks
  const lock = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))'
  await rows.run(lock, `${schema} fetch ${upstreamId}`)
  const find = `${SELECT} WHERE t.upstream_id = $1 AND t.kind = 'fetch' AND t.${WAITS} ORDER BY t.transfer_id LIMIT 1`
  const waiting = await rows.get<TransferRow>(find, upstreamId)
  if (waiting !== undefined) return toTransferRecord(waiting)
  const insert = `INSERT INTO transfer (kind, store_id, upstream_id, state, created_at_us)
    VALUES ('fetch', $1, $2, 'queued', $3)`
  await rows.run(insert, storeId, upstreamId, clock.nowUs())
  return toTransferRecord(writtenRow(await rows.get<TransferRow>(find, upstreamId)))
}

async function noteTransfer(db: PostgresDb, transferId: number, noted: TransferNote): Promise<void> {
  const { bytesSent, sizeBytes, mayBeReceived, resumeUrl, answer, delta, savedBytes } = noted
  const changes: [column: string, value: Value][] = []
  if (bytesSent !== undefined) changes.push(['bytes_sent', bytesSent])
  if (sizeBytes !== undefined) changes.push(['size_bytes', sizeBytes])
  if (mayBeReceived !== undefined) changes.push(['may_be_received', mayBeReceived])
  if (resumeUrl !== undefined) changes.push(['resume_url', resumeUrl === null ? null : storedText(resumeUrl)])
  if (answer !== undefined)
    changes.push(['answer', storedText(answer)], ['answer_model_id', modelIdOf(answer)])
  if (delta !== undefined)
    changes.push(
      ['delta', delta === null ? null : JSON.stringify(delta)],
      ['delta_bytes', delta === null ? null : delta.sizeBytes],
    )
  if (savedBytes !== undefined) changes.push(['saved_bytes', savedBytes])
  if (changes.length === 0) return
  const set = changes.map(([column], at) => `${column} = $${at + 2}`).join(', ')
  const values = changes.map(([, value]) => value)
  await db.write((rows) =>
    rows.run(`UPDATE transfer SET ${set} WHERE transfer_id = $1`, transferId, ...values),
  )
}

/** Returns the id that the upstream gave to a model, in the form in which it is stored. */
function modelIdOf(answer: string): string | null {
  const found: unknown = JSON.parse(answer)
  const id = typeof found === 'object' && found !== null ? Reflect.get(found, 'model_id') : undefined
  return typeof id === 'string' ? storedText(id) : null
}
