import type { ModelStoreRecord } from '../../models/model-stores.js'
import type { AddedModel, AddOptions, NewModel, NewSignature } from '../../models/models.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { findModel, findOrigin } from './model-row.js'
import { findStore, insertStore } from './model-stores.js'
import { queueFeedbacks } from './transfer-queue.js'

/** Adds several models in one transaction; undefined, and none of them, if a store is unknown. */
export async function addModels(
  state: StateDb,
  clock: TrustedClock,
  models: readonly { model: NewModel; options: AddOptions }[],
): Promise<AddedModel[] | undefined> {
  const isUnknown = ({ model, options }: { model: NewModel; options: AddOptions }) =>
    !options.autoCreate && findStore(state, model.store) === undefined
  // checked before the transaction: stores are unknown only where none may be created
  if (models.some(isUnknown)) return undefined
  return await writeState(state, () =>
    models.map(({ model, options }) => {
      const added = addModel(state, clock, model, options)
      // no test: nothing runs between the check and the transaction, unless another program holds the file
      if (added === undefined) throw new Error(`the store ${model.store} was removed meanwhile`)
      return added
    }),
  )
}

/** Writes a model with its store, its origin and its transfers. The caller holds the transaction. */
export function addModel(
  state: StateDb,
  clock: TrustedClock,
  model: NewModel,
  options: AddOptions,
): AddedModel | undefined {
  const { db } = state
  const store = findStore(state, model.store) ?? createStore(state, clock, model.store, options)
  if (store === undefined) return undefined
  if (model.origin !== null) {
    const first = findOrigin(state, model.origin, store.storeId)
    if (first !== undefined) {
      finishUpload(state, options.uploadId, first.modelId)
      return { model: first, isRepeat: true, transferIds: [] }
    }
  }
  const seq = insertModel(state, model, store.storeId)
  if (model.signature) insertSignature(state, seq, model.signature)
  const added = writtenRow(findModel(state, 'm.seq = ?', seq))
  if (model.origin !== null) {
    statement(db, 'INSERT INTO model_origin VALUES (?, ?, ?, ?, ?)').run(
      model.origin.node,
      model.origin.modelId,
      store.storeId,
      model.modelId,
      JSON.stringify(added),
    )
  }
  // the new bytes replace damaged ones of the same digest: every model with this digest is whole again
  statement(db, 'UPDATE model SET damaged_at_us = NULL WHERE sha256 = ?').run(model.sha256)
  finishUpload(state, options.uploadId, model.modelId)
  if (options.fetchId !== undefined) finishFetch(state, clock, options.fetchId, model)
  const transferIds = options.push ? queueFeedbacks(state, clock, added) : []
  return { model: added, isRepeat: false, transferIds }
}

function insertModel({ db }: StateDb, model: NewModel, storeId: number): number | bigint {
  return statement(
    db,
    `INSERT INTO model (model_id, store_id, kind, description, meta, md5, sha256, size_bytes, state, hop_count, round,
       lng, lat, start_us, end_us, tenant_id, origin_node, origin_model_id, chain)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    model.modelId,
    storeId,
    model.kind,
    model.description,
    model.meta,
    model.md5,
    model.sha256,
    model.sizeBytes,
    model.state,
    model.hopCount,
    model.round,
    model.lng,
    model.lat,
    model.startUs,
    model.endUs,
    model.tenantId,
    model.origin?.node ?? null,
    model.origin?.modelId ?? null,
    JSON.stringify(model.chain),
  ).lastInsertRowid
}

function insertSignature(
  { db }: StateDb,
  seq: number | bigint,
  { bundle, keyHint, verdict }: NewSignature,
): void {
  statement(db, 'INSERT INTO model_signature (seq, bundle, key_hint, verdict) VALUES (?, ?, ?, ?)').run(
    seq,
    bundle,
    keyHint,
    verdict,
  )
}

/** Creates an unknown store; undefined if the options do not allow it. */
function createStore(
  state: StateDb,
  clock: TrustedClock,
  name: string,
  { autoCreate }: AddOptions,
): ModelStoreRecord | undefined {
  return autoCreate ? writtenRow(insertStore(state, clock, name)) : undefined
}

function finishUpload({ db }: StateDb, uploadId: string | undefined, modelId: string): void {
  if (uploadId === undefined) return
  statement(db, 'UPDATE upload SET model_id = ? WHERE upload_id = ?').run(modelId, uploadId)
}

function finishFetch({ db }: StateDb, clock: TrustedClock, transferId: number, model: NewModel): void {
  statement(
    db,
    `UPDATE transfer SET state = 'delivered', model_id = ?, finished_at_us = ?,
       bytes_sent = coalesce(delta ->> '$.sizeBytes', ?), last_error = NULL,
       last_error_name = NULL, next_attempt_us = NULL WHERE transfer_id = ?`,
  ).run(model.modelId, clock.nowUs(), model.sizeBytes, transferId)
}
