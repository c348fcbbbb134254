import type { QueuedModel } from '../../models/transfers.js'
import type { TrustedClock } from '../../work/clock.js'
import type { Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

const INSERT = `INSERT INTO transfer (kind, model_id, store_id, upstream_id, state, size_bytes, created_at_us)`

/** Returns the feedbacks of a model, in the order of their ids. */
export async function feedbacksOf(rows: Rows, { modelId }: QueuedModel): Promise<number[]> {
  const found = await rows.all<{ id: number }>(
    `SELECT transfer_id AS id FROM transfer WHERE kind = 'feedback' AND model_id = $1 ORDER BY transfer_id`,
    modelId,
  )
  return found.map(({ id }) => id)
}

/**
 * Queues a feedback to every enabled upstream of the store of a new model. Call it inside a transaction.
 *
 * @returns ids of the transfers
 */
export async function queueFeedbacks(rows: Rows, clock: TrustedClock, model: QueuedModel): Promise<number[]> {
  const { modelId, storeId, sizeBytes } = model
  await rows.run(
    `${INSERT} SELECT 'feedback', $1, store_id, upstream_id, 'queued', $3, $4 FROM upstream
       WHERE store_id = $2 AND enabled ORDER BY upstream_id`,
    ...[modelId, storeId, sizeBytes, clock.nowUs()],
  )
  return await feedbacksOf(rows, model)
}

/**
 * Queues the feedback of a model to an upstream, or finds the existing one. A failed one is queued again; a
 * delivered one stays delivered, so that the upstream never receives a second copy. Call it inside a transaction.
 *
 * @returns id of the transfer
 */
export async function queueFeedback(
  rows: Rows,
  clock: TrustedClock,
  { modelId, storeId, sizeBytes }: QueuedModel,
  upstreamId: number,
): Promise<number> {
  const find = `SELECT transfer_id AS id, state = 'failed' AS "isFailed" FROM transfer
    WHERE kind = 'feedback' AND model_id = $1 AND upstream_id = $2`
  const known = await rows.get<{ id: number; isFailed: boolean }>(find, modelId, upstreamId)
  if (known?.isFailed === true) await requeue(rows, known.id)
  if (known !== undefined) return known.id
  await rows.run(
    `${INSERT} VALUES ('feedback', $1, $2, $3, 'queued', $4, $5)
       ON CONFLICT (model_id, upstream_id) WHERE kind = 'feedback' DO NOTHING`,
    ...[modelId, storeId, upstreamId, sizeBytes, clock.nowUs()],
  )
  return writtenRow(await rows.get<{ id: number }>(find, modelId, upstreamId)).id
}

/** Queues a failed transfer again. Its progress, and whether it may have arrived, are kept. */
export async function requeue(rows: Rows, transferId: number): Promise<void> {
  await rows.run(
    `UPDATE transfer SET state = 'queued', finished_at_us = NULL, next_attempt_us = NULL
      WHERE transfer_id = $1 AND state IN ('failed', 'queued')`,
    transferId,
  )
}
