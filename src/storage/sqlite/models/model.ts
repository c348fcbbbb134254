import type { TrustedClock } from '../../clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { insertStore, type ModelStoreRecord, storeRow } from './model-store.js'
import { queueFeedbacks } from './transfer-queue.js'

/** 10 registered here, 20 received as feedback, 30 aggregated, 40 fetched from the upstream */
export type ModelState = 10 | 20 | 30 | 40

/** A registered model. Its bytes are in the blob store under `sha256`. */
export interface ModelRecord {
  seq: number
  modelId: string
  storeId: number
  storeName: string
  storeLongForm: string
  kind: string
  description: string
  /** JSON text of an object, as supplied */
  meta: string
  md5: string
  sha256: string
  sizeBytes: number
  state: ModelState
  hopCount: number
  round: number
  lng: number
  lat: number
  startUs: number
  endUs: number
  tenantId: string
  originNode: string | null
  originModelId: string | null
  /** node ids it came through, the first one first */
  chain: string[]
  isDamaged: boolean
}

export type NewModel = Omit<
  ModelRecord,
  'seq' | 'storeId' | 'storeName' | 'storeLongForm' | 'originNode' | 'originModelId' | 'isDamaged'
> & {
  store: string
  origin: { node: string; modelId: string } | null
}

export interface AddOptions {
  /** makes the store when there is none of the name */
  autoCreate: boolean
  /** queues a feedback to every enabled upstream of the store, in the same transaction */
  push: boolean
  /** the transfer that brought the model: delivered in the same transaction */
  fetchId?: number
  /** the resumable upload that brought it: done in the same transaction */
  uploadId?: string
}

export interface AddedModel {
  model: ModelRecord
  /** the same origin was registered before: `model` is the first one, and nothing was written */
  isRepeat: boolean
  transferIds: number[]
}

/** What is wrong with a stored model. */
export interface ModelFault {
  seq: number
  modelId: string
  reason: string
}

/** Models. Small and async, so that a hub can keep them in another database. */
export interface ModelRows {
  /** undefined when the store is unknown and may not be made */
  add(model: NewModel, options: AddOptions): Promise<AddedModel | undefined>
  /** several in one transaction; undefined, and none of them, when a store is unknown and may not be made */
  addAll(models: readonly { model: NewModel; options: AddOptions }[]): Promise<AddedModel[] | undefined>
  find(modelId: string): Promise<ModelRecord | undefined>
  /** also one that was deleted while a transfer still needs it */
  findForTransfer(modelId: string): Promise<ModelRecord | undefined>
  findByOrigin(node: string, modelId: string, storeId: number): Promise<ModelRecord | undefined>
  /** the newest model of a state, undefined when there is none */
  newest(storeId: number, state: ModelState): Promise<ModelRecord | undefined>
  /** gone for callers at once; the row goes when no transfer waits for it. undefined when unknown */
  remove(modelId: string): Promise<ModelRecord | undefined>
  /** removes rows of deleted models that no transfer waits for; returns how many */
  purge(): Promise<number>
  /** any model of these bytes that are not damaged */
  findByDigest(sha256: string): Promise<ModelRecord | undefined>
  /** true while a row or a waiting transfer names the bytes */
  isNamed(sha256: string): Promise<boolean>
  /** digests and sizes in use, in order, after one of them */
  digests(after: string, limit: number): Promise<{ sha256: string; sizeBytes: number; isDamaged: boolean }[]>
  /** @returns how many models changed */
  setDamaged(sha256: string, isDamaged: boolean): Promise<number>
  /** looks at rows after `seq`; hides those that cannot be shown and tells of them */
  quarantineBadRows(
    afterSeq: number,
    limit: number,
  ): Promise<{ lastSeq: number | null; faults: ModelFault[] }>
  counts(): Promise<{ models: number; bytes: number; damaged: number; quarantined: number }>
}

/** Columns of `model` joined with its store, under the names of `ModelRow`. */
export const MODEL_SELECT = `
  SELECT m.seq, m.model_id, m.store_id, s.name AS store_name, s.long_form, m.kind, m.description, m.meta, m.md5, m.sha256,
    m.size_bytes, m.state, m.hop_count, m.round, m.lng, m.lat, m.start_us, m.end_us, m.tenant_id, m.origin_node,
    m.origin_model_id, m.chain, m.damaged_at_us
  FROM model m JOIN model_store s USING (store_id)`

export const SHOWN = 'm.deleted_at_us IS NULL AND m.quarantined IS NULL'

export interface ModelRow {
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

export function createModelRows(state: StateDb, clock: TrustedClock): ModelRows {
  const { db } = state
  const one = (where: string, ...values: unknown[]) => {
    const row = statement<ModelRow>(db, `${MODEL_SELECT} WHERE ${where}`).get(...values)
    return row === undefined ? undefined : toModelRecord(row)
  }
  return {
    add: (model, options) => writeState(state, () => addModel(state, clock, model, options)),
    async addAll(models) {
      // a store can be missing only where none may be made, and nothing is made then
      if (
        models.some(({ model, options }) => !options.autoCreate && storeRow(state, model.store) === undefined)
      )
        return undefined
      return await writeState(state, () =>
        models.map(({ model, options }) => {
          const added = addModel(state, clock, model, options)
          if (added === undefined) throw new Error('a store that was there has gone')
          return added
        }),
      )
    },
    find: async (modelId) => one(`m.model_id = ? AND ${SHOWN}`, modelId),
    findForTransfer: async (modelId) => one('m.model_id = ? AND m.quarantined IS NULL', modelId),
    findByOrigin: async (node, modelId, storeId) => originAnswer(state, node, modelId, storeId),
    newest: async (storeId, wanted) =>
      one(`m.store_id = ? AND m.state = ? AND ${SHOWN} ORDER BY m.seq DESC LIMIT 1`, storeId, wanted),
    remove: (modelId) =>
      writeState(state, () => {
        const model = one(`m.model_id = ? AND ${SHOWN}`, modelId)
        if (model === undefined) return undefined
        statement(db, 'UPDATE model SET deleted_at_us = ? WHERE seq = ?').run(clock.nowUs(), model.seq)
        statement(db, `${PURGE} AND seq = ?`).run(model.seq)
        return model
      }),
    purge: () => writeState(state, () => statement(db, PURGE).run().changes),
    findByDigest: async (sha256) =>
      one('m.sha256 = ? AND m.damaged_at_us IS NULL AND m.quarantined IS NULL LIMIT 1', sha256),
    isNamed: async (sha256) => statement(db, IS_NAMED).get({ sha256 }) !== undefined,
    digests: async (after, limit) => listDigests(state, after, limit),
    setDamaged: (sha256, isDamaged) =>
      writeState(
        state,
        () =>
          statement(
            db,
            `UPDATE model SET damaged_at_us = ? WHERE sha256 = ? AND (damaged_at_us IS NULL) = ?`,
          ).run(isDamaged ? clock.nowUs() : null, sha256, isDamaged ? 1 : 0).changes,
      ),
    quarantineBadRows: (afterSeq, limit) => quarantineBadRows(state, afterSeq, limit),
    counts: async () => countModels(state),
  }
}

/** A row as a record. @throws SyntaxError when its JSON is damaged */
export function toModelRecord(row: ModelRow): ModelRecord {
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
    chain: JSON.parse(row.chain) as string[],
    isDamaged: row.damaged_at_us !== null,
  }
}

/** An upload whose bytes are in place but not yet registered names them too. */
const IS_NAMED = `SELECT 1 FROM model WHERE sha256 = :sha256
  UNION ALL SELECT 1 FROM upload WHERE sha256 = :sha256 AND model_id IS NULL AND offset_bytes = size_bytes LIMIT 1`

const PURGE = `DELETE FROM model WHERE deleted_at_us IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM transfer t WHERE t.model_id = model.model_id AND t.kind = 'feedback' AND t.state IN ('queued', 'sending'))`

/** One transaction: store, model, origin, and the transfers it causes. */
function addModel(
  state: StateDb,
  clock: TrustedClock,
  model: NewModel,
  options: AddOptions,
): AddedModel | undefined {
  const { db } = state
  const store =
    storeRow(state, model.store) ?? (options.autoCreate ? makeStore(state, clock, model.store) : undefined)
  if (store === undefined) return undefined
  if (model.origin !== null) {
    const first = originAnswer(state, model.origin.node, model.origin.modelId, store.storeId)
    if (first !== undefined) {
      finishUpload(state, options.uploadId, first.modelId)
      return { model: first, isRepeat: true, transferIds: [] }
    }
  }
  const seq = insertModel(state, model, store.storeId)
  const row = statement<ModelRow>(db, `${MODEL_SELECT} WHERE m.seq = ?`).get(seq) as ModelRow
  const added = toModelRecord(row)
  if (model.origin !== null) {
    statement(db, 'INSERT INTO model_origin VALUES (?, ?, ?, ?, ?)').run(
      model.origin.node,
      model.origin.modelId,
      store.storeId,
      model.modelId,
      JSON.stringify(added),
    )
  }
  // new bytes under a damaged digest heal every model that names it
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

function makeStore(state: StateDb, clock: TrustedClock, name: string): ModelStoreRecord {
  const made = insertStore(state, clock, name)
  if (made === undefined) throw new Error('a store that was not there could not be made')
  return made
}

function originAnswer(
  { db }: StateDb,
  node: string,
  modelId: string,
  storeId: number,
): ModelRecord | undefined {
  const row = statement<{ answer: string }>(
    db,
    'SELECT answer FROM model_origin WHERE origin_node = ? AND origin_model_id = ? AND store_id = ?',
  ).get(node, modelId, storeId)
  return row === undefined ? undefined : (JSON.parse(row.answer) as ModelRecord)
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

function listDigests({ db }: StateDb, after: string, limit: number) {
  return statement<{ sha256: string; size_bytes: number; damaged: number }>(
    db,
    `SELECT sha256, min(size_bytes) AS size_bytes, max(damaged_at_us IS NOT NULL) AS damaged FROM model
     WHERE sha256 > ? GROUP BY sha256 ORDER BY sha256 LIMIT ?`,
  )
    .all(after, limit)
    .map((row) => ({ sha256: row.sha256, sizeBytes: row.size_bytes, isDamaged: row.damaged === 1 }))
}

/** The checks of the table were passed when the row was written: what fails now was damaged since. */
async function quarantineBadRows(state: StateDb, afterSeq: number, limit: number) {
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

function faultOf(row: ModelRow): string | null {
  if (!/^[0-9a-f]{64}$/.test(row.sha256)) return 'its SHA-256 is not one'
  if (!/^[0-9a-f]{32}$/.test(row.md5)) return 'its MD5 is not one'
  if (!isJson(row.meta, (value) => typeof value === 'object' && value !== null && !Array.isArray(value)))
    return 'its model_meta is not a JSON object'
  if (!isJson(row.chain, (value) => Array.isArray(value) && value.every((id) => typeof id === 'string')))
    return 'its chain of nodes is not a list'
  return null
}

function isJson(text: string, fits: (value: unknown) => boolean): boolean {
  try {
    return fits(JSON.parse(text))
  } catch {
    return false
  }
}

function countModels({ db }: StateDb) {
  const row = statement<{ models: number; bytes: number; damaged: number; quarantined: number }>(
    db,
    `SELECT count(*) AS models, coalesce(sum(size_bytes), 0) AS bytes, count(damaged_at_us) AS damaged,
       count(quarantined) AS quarantined FROM model WHERE deleted_at_us IS NULL`,
  ).get()
  return row ?? { models: 0, bytes: 0, damaged: 0, quarantined: 0 }
}
