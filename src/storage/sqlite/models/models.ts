import type { TrustedClock } from '../../clock.js'
import type { ModelStoreRecord } from '../../model-stores.js'
import type {
  AddedModel,
  AddOptions,
  ModelCounts,
  ModelDigest,
  ModelFault,
  ModelRecord,
  ModelRows,
  ModelState,
  NewModel,
} from '../../models.js'
import { statement, writtenRow } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { findStore, insertStore } from './model-stores.js'
import { queueFeedbacks } from './transfer-queue.js'

/** Selects the columns of `ModelRow`. */
const MODEL_SELECT = `
  SELECT m.seq, m.model_id, m.store_id, s.name AS store_name, s.long_form, m.kind, m.description, m.meta, m.md5, m.sha256,
    m.size_bytes, m.state, m.hop_count, m.round, m.lng, m.lat, m.start_us, m.end_us, m.tenant_id, m.origin_node,
    m.origin_model_id, m.chain, m.damaged_at_us
  FROM model m JOIN model_store s USING (store_id)`

/** Condition of a model that callers may see. */
const SHOWN = 'm.deleted_at_us IS NULL AND m.quarantined IS NULL'

interface ModelRow {
  seq: number
  model_id: string
  store_id: number
  store_name: string
  long_form: string
  kind: string
  description: string
  meta: string
  md5: string
  sha256: string
  size_bytes: number
  state: ModelState
  hop_count: number
  round: number
  lng: number
  lat: number
  start_us: number
  end_us: number
  tenant_id: string
  origin_node: string | null
  origin_model_id: string | null
  chain: string
  damaged_at_us: number | null
}

const FIELDS: ListFields = {
  model_id: { sql: 'm.model_id', type: 'text' },
  model_kind: { sql: 'm.kind', type: 'text' },
  model_description: { sql: 'm.description', type: 'text' },
  model_meta: { sql: 'm.meta', type: 'text' },
  model_hash: { sql: 'm.md5', type: 'text' },
  model_sha256: { sql: 'm.sha256', type: 'text' },
  model_size: { sql: 'm.size_bytes', type: 'int8' },
  model_state: { sql: 'm.state', type: 'int4' },
  hop_count: { sql: 'm.hop_count', type: 'int4' },
  round: { sql: 'm.round', type: 'int4' },
  start_datetime: { sql: 'm.start_us', type: 'timestamptz' },
  end_datetime: { sql: 'm.end_us', type: 'timestamptz' },
  tenant_id: { sql: 'm.tenant_id', type: 'text' },
}

/** Creates the rows of models of `state.db`. */
export function createModelRows(state: StateDb, clock: TrustedClock): ModelRows {
  return { ...modelReads(state), ...modelWrites(state, clock) }
}

type WriteName = 'add' | 'addAll' | 'remove' | 'purge' | 'setDamaged' | 'quarantineBadRows'

function modelReads(state: StateDb): Omit<ModelRows, WriteName> {
  const { db } = state
  return {
    find: async (modelId) => findModel(state, `m.model_id = ? AND ${SHOWN}`, modelId),
    findForTransfer: async (modelId) => findModel(state, 'm.model_id = ? AND m.quarantined IS NULL', modelId),
    findByOrigin: async (node, modelId, storeId) => findOrigin(state, { node, modelId }, storeId),
    newest: async (storeId, wanted) =>
      findModel(
        state,
        `m.store_id = ? AND m.state = ? AND ${SHOWN} ORDER BY m.seq DESC LIMIT 1`,
        storeId,
        wanted,
      ),
    async list(storeId, query) {
      const tail = listTail(FIELDS, 'm.seq', query)
      const sql = `${MODEL_SELECT} WHERE m.store_id = ? AND ${SHOWN} AND ${tail.sql}`
      return queryOnce<ModelRow>(db, sql, [storeId, ...tail.values]).map(toModelRecord)
    },
    findByDigest: async (sha256) =>
      findModel(state, 'm.sha256 = ? AND m.damaged_at_us IS NULL AND m.quarantined IS NULL LIMIT 1', sha256),
    isNamed: async (sha256) => statement(db, IS_NAMED).get({ sha256 }) !== undefined,
    digests: async (after, limit) => listDigests(state, after, limit),
    counts: async () => countModels(state),
  }
}

function modelWrites(state: StateDb, clock: TrustedClock): Pick<ModelRows, WriteName> {
  const { db } = state
  return {
    add: (model, options) => writeState(state, () => addModel(state, clock, model, options)),
    addAll: (models) => addModels(state, clock, models),
    remove: (modelId) =>
      writeState(state, () => {
        const model = findModel(state, `m.model_id = ? AND ${SHOWN}`, modelId)
        if (model === undefined) return undefined
        statement(db, 'UPDATE model SET deleted_at_us = ? WHERE seq = ?').run(clock.nowUs(), model.seq)
        statement(db, `${PURGE} AND seq = ?`).run(model.seq)
        return model
      }),
    purge: () => writeState(state, () => statement(db, PURGE).run().changes),
    setDamaged: (sha256, isDamaged) =>
      writeState(state, () => {
        const damagedAtUs = isDamaged ? clock.nowUs() : null
        return statement(db, SET_DAMAGED).run(damagedAtUs, sha256, isDamaged ? 1 : 0).changes
      }),
    quarantineBadRows: (afterSeq, limit) => quarantineBadRows(state, afterSeq, limit),
  }
}

/** Finds one model. @param where constant SQL, so that its statement is kept */
function findModel(state: StateDb, where: string, ...values: unknown[]): ModelRecord | undefined {
  const row = statement<ModelRow>(state.db, `${MODEL_SELECT} WHERE ${where}`).get(...values)
  return row === undefined ? undefined : toModelRecord(row)
}

/** Adds several models in one transaction; undefined, and none of them, if a store is unknown. */
async function addModels(
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
      if (added === undefined) throw new Error(`the store ${model.store} was removed meanwhile`)
      return added
    }),
  )
}

/** Converts a row. @throws SyntaxError for damaged JSON */
function toModelRecord(row: ModelRow): ModelRecord {
  return {
    seq: row.seq,
    modelId: row.model_id,
    storeId: row.store_id,
    storeName: row.store_name,
    storeLongForm: row.long_form,
    kind: row.kind,
    description: row.description,
    meta: row.meta,
    md5: row.md5,
    sha256: row.sha256,
    sizeBytes: row.size_bytes,
    state: row.state,
    hopCount: row.hop_count,
    round: row.round,
    lng: row.lng,
    lat: row.lat,
    startUs: row.start_us,
    endUs: row.end_us,
    tenantId: row.tenant_id,
    originNode: row.origin_node,
    originModelId: row.origin_model_id,
    chain: JSON.parse(row.chain),
    isDamaged: row.damaged_at_us !== null,
  }
}

/** A complete upload refers to its bytes before the model is registered. */
const IS_NAMED = `SELECT 1 FROM model WHERE sha256 = :sha256
  UNION ALL SELECT 1 FROM upload WHERE sha256 = :sha256 AND model_id IS NULL AND offset_bytes = size_bytes LIMIT 1`

const SET_DAMAGED = `UPDATE model SET damaged_at_us = ? WHERE sha256 = ? AND (damaged_at_us IS NULL) = ?`

/** Removes deleted models that no feedback waits for. */
const PURGE = `DELETE FROM model WHERE deleted_at_us IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM transfer t WHERE t.model_id = model.model_id AND t.kind = 'feedback' AND t.state IN ('queued', 'sending'))`

/** Writes a model with its store, its origin and its transfers. The caller holds the transaction. */
function addModel(
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

/** Creates an unknown store; undefined if the options do not allow it. */
function createStore(
  state: StateDb,
  clock: TrustedClock,
  name: string,
  { autoCreate }: AddOptions,
): ModelStoreRecord | undefined {
  return autoCreate ? writtenRow(insertStore(state, clock, name)) : undefined
}

/** Finds the record that was answered when an origin was first registered. */
function findOrigin(
  { db }: StateDb,
  { node, modelId }: { node: string; modelId: string },
  storeId: number,
): ModelRecord | undefined {
  const row = statement<{ answer: string }>(
    db,
    'SELECT answer FROM model_origin WHERE origin_node = ? AND origin_model_id = ? AND store_id = ?',
  ).get(node, modelId, storeId)
  return row === undefined ? undefined : JSON.parse(row.answer)
}

function finishUpload({ db }: StateDb, uploadId: string | undefined, modelId: string): void {
  if (uploadId === undefined) return
  statement(db, 'UPDATE upload SET model_id = ? WHERE upload_id = ?').run(modelId, uploadId)
}

function finishFetch({ db }: StateDb, clock: TrustedClock, transferId: number, model: NewModel): void {
  statement(
    db,
    `UPDATE transfer SET state = 'delivered', model_id = ?, finished_at_us = ?, bytes_sent = ?, last_error = NULL,
       last_error_name = NULL, next_attempt_us = NULL WHERE transfer_id = ?`,
  ).run(model.modelId, clock.nowUs(), model.sizeBytes, transferId)
}

function listDigests({ db }: StateDb, after: string, limit: number): ModelDigest[] {
  return statement<{ sha256: string; size_bytes: number; damaged: number }>(
    db,
    `SELECT sha256, min(size_bytes) AS size_bytes, max(damaged_at_us IS NOT NULL) AS damaged FROM model
     WHERE sha256 > ? GROUP BY sha256 ORDER BY sha256 LIMIT ?`,
  )
    .all(after, limit)
    .map((row) => ({ sha256: row.sha256, sizeBytes: row.size_bytes, isDamaged: row.damaged === 1 }))
}

/** Hides damaged rows. A row passed these checks when it was written, so one that fails them was damaged since. */
async function quarantineBadRows(
  state: StateDb,
  afterSeq: number,
  limit: number,
): Promise<{ lastSeq: number | null; faults: ModelFault[] }> {
  const rows = statement<ModelRow>(
    state.db,
    `${MODEL_SELECT} WHERE m.seq > ? AND m.quarantined IS NULL ORDER BY m.seq LIMIT ?`,
  ).all(afterSeq, limit)
  const faults = rows.flatMap((row) => {
    const reason = faultOf(row)
    return reason === null ? [] : [{ seq: row.seq, modelId: String(row.model_id), reason }]
  })
  if (faults.length > 0) {
    await writeState(state, () => {
      const hide = statement(state.db, 'UPDATE model SET quarantined = ? WHERE seq = ?')
      for (const fault of faults) hide.run(fault.reason, fault.seq)
    })
  }
  return { lastSeq: rows.at(-1)?.seq ?? null, faults }
}

/** Returns why a row cannot be shown; null if it can. */
function faultOf(row: ModelRow): string | null {
  if (!/^[0-9a-f]{64}$/.test(row.sha256)) return 'its SHA-256 is not 64 hex digits'
  if (!/^[0-9a-f]{32}$/.test(row.md5)) return 'its MD5 is not 32 hex digits'
  if (!isJson(row.meta, (value) => typeof value === 'object' && value !== null && !Array.isArray(value)))
    return 'its model_meta is not a JSON object'
  if (!isJson(row.chain, (value) => Array.isArray(value) && value.every((id) => typeof id === 'string')))
    return 'its chain is not a JSON array of node ids'
  return null
}

function isJson(text: string, fits: (value: unknown) => boolean): boolean {
  try {
    return fits(JSON.parse(text))
  } catch {
    return false
  }
}

function countModels({ db }: StateDb): ModelCounts {
  const row = statement<ModelCounts>(
    db,
    `SELECT count(*) AS models, coalesce(sum(size_bytes), 0) AS bytes, count(damaged_at_us) AS damaged,
       count(quarantined) AS quarantined FROM model WHERE deleted_at_us IS NULL`,
  ).get()
  return row ?? { models: 0, bytes: 0, damaged: 0, quarantined: 0 }
}
