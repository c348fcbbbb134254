import type { TrustedClock } from '../../clock.js'
import { statement } from '../connection/database.js'
import type { StateDb } from '../connection/state-db.js'

/** The parts of a model that a transfer needs to be queued. */
export interface QueuedModel {
  modelId: string
  storeId: number
  sizeBytes: number
}

/** Queues a feedback to every enabled upstream of the model's store. The caller holds the transaction. */
export function queueFeedbacks(state: StateDb, clock: TrustedClock, model: QueuedModel): number[] {
  const upstreams = statement<{ upstream_id: number }>(
    state.db,
    'SELECT upstream_id FROM upstream WHERE store_id = ? AND enabled = 1 ORDER BY upstream_id',
  ).all(model.storeId)
  return upstreams.map(({ upstream_id }) => queueFeedback(state, clock, model, upstream_id))
}

/**
 * Queues a feedback, or finds the one that is there. One that failed is queued again; one that was delivered stays so:
 * there is never a second copy upstream. The caller holds the transaction.
 */
export function queueFeedback(
  { db }: StateDb,
  clock: TrustedClock,
  model: QueuedModel,
  upstreamId: number,
): number {
  const known = statement<{ transfer_id: number; state: string }>(
    db,
    `SELECT transfer_id, state FROM transfer WHERE kind = 'feedback' AND model_id = ? AND upstream_id = ?`,
  ).get(model.modelId, upstreamId)
  if (known?.state === 'failed') requeue(db, known.transfer_id)
  if (known !== undefined) return known.transfer_id
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO transfer (kind, model_id, store_id, upstream_id, state, size_bytes, created_at_us)
     VALUES ('feedback', ?, ?, ?, 'queued', ?, ?)`,
  ).run(model.modelId, model.storeId, upstreamId, model.sizeBytes, clock.nowUs())
  return Number(lastInsertRowid)
}

/** Makes a failed transfer wait again. What is known of it (where it stands, whether it may have arrived) stays. */
export function requeue(db: StateDb['db'], transferId: number): number {
  return statement(
    db,
    `UPDATE transfer SET state = 'queued', finished_at_us = NULL, next_attempt_us = NULL
     WHERE transfer_id = ? AND state IN ('failed', 'queued')`,
  ).run(transferId).changes
}
