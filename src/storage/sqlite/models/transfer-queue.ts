import type { QueuedModel } from '../../models/transfers.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import type { StateDb } from '../connection/state-db.js'

/**
 * Queues a feedback to every enabled upstream of the model's store. The caller holds the transaction.
 *
 * @returns ids of the transfers
 */
export function queueFeedbacks(state: StateDb, clock: TrustedClock, model: QueuedModel): number[] {
  const upstreams = statement<{ upstream_id: number }>(
    state.db,
    'SELECT upstream_id FROM upstream WHERE store_id = ? AND enabled = 1 ORDER BY upstream_id',
  ).all(model.storeId)
  return upstreams.map(({ upstream_id }) => queueFeedback(state, clock, model, upstream_id))
}

/**
 * Queues the feedback of a model to an upstream, or finds the existing one. A failed one is queued again; a
 * delivered one stays delivered, so that the upstream never receives a second copy. The caller holds the
 * transaction.
 *
 * @returns id of the transfer
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

/**
 * Queues a failed transfer again. Its progress, and whether it may have arrived, are kept. The caller holds
 * the transaction.
 *
 * @returns number of changed rows, 0 or 1
 */
export function requeue(db: StateDb['db'], transferId: number): number {
  return statement(
    db,
    `UPDATE transfer SET state = 'queued', finished_at_us = NULL, next_attempt_us = NULL
     WHERE transfer_id = ? AND state IN ('failed', 'queued')`,
  ).run(transferId).changes
}
