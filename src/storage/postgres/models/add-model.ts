import { randomUUID } from 'node:crypto'
import type { ModelStoreRecord } from '../../models/model-stores.js'
import type { AddedModel, AddOptions, ModelRecord, NewModel, NewSignature } from '../../models/models.js'
import type { TrustedClock } from '../../work/clock.js'
import { storedText } from '../connection/any-text.js'
import type { Attempt, PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'
import { findModel, findOrigin } from './model-row.js'
import { findStore, insertStore, keepStore } from './model-stores.js'
import { feedbacksOf, queueFeedbacks } from './transfer-queue.js'

/** A registration. */
interface Adding {
  readonly model: NewModel
  readonly options: AddOptions
}

interface AddContext {
  readonly schema: string
  readonly clock: TrustedClock
}

/** Adds a model; undefined if its store is unknown and may not be made. */
export function addModel(
  db: PostgresDb,
  clock: TrustedClock,
  adding: Adding,
): Promise<AddedModel | undefined> {
  return db.write((rows, attempt) => addOne(rows, { schema: db.schema, clock }, adding, attempt))
}

/** Adds several models in one transaction; undefined, and none of them, if a store is unknown. */
export function addModels(
  db: PostgresDb,
  clock: TrustedClock,
  models: readonly Adding[],
): Promise<AddedModel[] | undefined> {
  return db.write(async (rows, attempt) => {
    for (const { model, options } of models) {
      if (!options.autoCreate && (await findStore(rows, model.store)) === undefined) return undefined
    }
    const added: AddedModel[] = []
    for (const adding of models) {
      const one = await addOne(rows, { schema: db.schema, clock }, adding, attempt)
      // no test: another process would have to remove the store since the lines above
      if (one === undefined) throw new Error(`the store ${adding.model.store} was removed meanwhile`)
      added.push(one)
    }
    return added
  })
}

/** Writes a model with its store, its origin and its transfers, unless an earlier attempt did. */
async function addOne(
  rows: Rows,
  { schema, clock }: AddContext,
  { model, options }: Adding,
  { isRepeat }: Attempt,
): Promise<AddedModel | undefined> {
  const own = isRepeat ? await findModel(rows, 'm.model_id = $1', model.modelId) : undefined
  if (own !== undefined)
    return { model: own, isRepeat: false, transferIds: options.push ? await feedbacksOf(rows, own) : [] }
  const uploaded = await uploadedModel(rows, options.uploadId)
  if (uploaded !== undefined) return { model: uploaded, isRepeat: true, transferIds: [] }
  const store = await storeOf(rows, { schema, clock }, model.store, options)
  if (store === undefined) return undefined
  if (model.origin !== null) {
    // an origin is registered once, by all processes
    const { node, modelId } = model.origin
    const name = JSON.stringify([schema, 'model origin', node, modelId, store.storeId])
    await rows.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', name)
    const first = await findOrigin(rows, model.origin, store.storeId)
    if (first !== undefined) {
      await finishUpload(rows, options.uploadId, first.modelId)
      return { model: first, isRepeat: true, transferIds: [] }
    }
  }
  const seq = await insertModel(rows, model, store.storeId)
  if (model.signature) await insertSignature(rows, seq, model.signature)
  const added = writtenRow(await findModel(rows, 'm.seq = $1', seq))
  if (model.origin !== null) {
    await rows.run(
      'INSERT INTO model_origin VALUES ($1, $2, $3, $4, $5)',
      ...[storedText(model.origin.node), storedText(model.origin.modelId), store.storeId],
      ...[model.modelId, JSON.stringify(added)],
    )
  }
  // the new bytes replace damaged ones of the same digest: every model with this digest is whole again
  const heal = 'UPDATE model SET damaged_at_us = NULL WHERE sha256 = $1 AND damaged_at_us IS NOT NULL'
  await rows.run(heal, model.sha256)
  await finishUpload(rows, options.uploadId, model.modelId)
  if (options.fetchId !== undefined) await finishFetch(rows, clock, options.fetchId, model)
  return {
    model: added,
    isRepeat: false,
    transferIds: options.push ? await queueFeedbacks(rows, clock, added) : [],
  }
}

/** Finds a store and keeps it until the end of the transaction; makes an unknown one where that is allowed. */
async function storeOf(
  rows: Rows,
  { schema, clock }: AddContext,
  name: string,
  { autoCreate }: AddOptions,
): Promise<ModelStoreRecord | undefined> {
  for (;;) {
    const known = await findStore(rows, name)
    if (known !== undefined && (await keepStore(rows, known.storeId))) return known
    if (!autoCreate) return undefined
    const made = await insertStore(rows, { schema, name, madeBy: randomUUID(), nowUs: clock.nowUs() })
    if (made !== undefined) return made
    // no test: another process has made it since the first line
  }
}

async function insertModel(rows: Rows, model: NewModel, storeId: number): Promise<number> {
  const { origin } = model
  const made = await rows.get<{ seq: number }>(
    `INSERT INTO model (model_id, store_id, kind, description, meta, md5, sha256, size_bytes, state, hop_count, round,
       lng, lat, start_us, end_us, tenant_id, origin_node, origin_model_id, chain)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) RETURNING seq`,
    ...[model.modelId, storeId, storedText(model.kind), storedText(model.description), model.meta],
    ...[
      model.md5,
      model.sha256,
      model.sizeBytes,
      model.state,
      model.hopCount,
      model.round,
      model.lng,
      model.lat,
    ],
    ...[model.startUs, model.endUs, storedText(model.tenantId)],
    ...[
      origin === null ? null : storedText(origin.node),
      origin === null ? null : storedText(origin.modelId),
    ],
    JSON.stringify(model.chain),
  )
  return writtenRow(made).seq
}

async function insertSignature(
  rows: Rows,
  seq: number,
  { bundle, keyHint, verdict }: NewSignature,
): Promise<void> {
  await rows.run(
    'INSERT INTO model_signature (seq, bundle, key_hint, verdict) VALUES ($1, $2, $3, $4)',
    ...[seq, storedText(bundle), keyHint, verdict],
  )
}

/** Returns the model that another process has made of the same upload, whose row stays locked until the commit. */
async function uploadedModel(rows: Rows, uploadId: string | undefined): Promise<ModelRecord | undefined> {
  if (uploadId === undefined) return undefined
  const upload = await rows.get<{ modelId: string | null }>(
    'SELECT model_id AS "modelId" FROM upload WHERE upload_id = $1 FOR UPDATE',
    uploadId,
  )
  return upload?.modelId ? await findModel(rows, 'm.model_id = $1', upload.modelId) : undefined
}

async function finishUpload(rows: Rows, uploadId: string | undefined, modelId: string): Promise<void> {
  if (uploadId === undefined) return
  await rows.run(
    'UPDATE upload SET model_id = $2, offset_bytes = size_bytes WHERE upload_id = $1',
    uploadId,
    modelId,
  )
}

async function finishFetch(
  rows: Rows,
  clock: TrustedClock,
  transferId: number,
  model: NewModel,
): Promise<void> {
  await rows.run(
    `UPDATE transfer SET state = 'delivered', model_id = $2, finished_at_us = $3,
       bytes_sent = coalesce(delta_bytes, $4), last_error = NULL, last_error_name = NULL, next_attempt_us = NULL
     WHERE transfer_id = $1`,
    ...[transferId, model.modelId, clock.nowUs(), model.sizeBytes],
  )
}
