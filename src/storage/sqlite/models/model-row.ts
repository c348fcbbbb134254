import type { ModelRecord, ModelState } from '../../models/models.js'
import { statement } from '../connection/database.js'
import type { StateDb } from '../connection/state-db.js'

/** Selects the columns of `ModelRow`. */
export const MODEL_SELECT = `
  SELECT m.seq, m.model_id, m.store_id, s.name AS store_name, s.long_form, m.kind, m.description, m.meta, m.md5, m.sha256,
    m.size_bytes, m.state, m.hop_count, m.round, m.lng, m.lat, m.start_us, m.end_us, m.tenant_id, m.origin_node,
    m.origin_model_id, m.chain, m.damaged_at_us, g.key_hint, g.verdict, g.seq IS NOT NULL AS is_signed
  FROM model m JOIN model_store s USING (store_id) LEFT JOIN model_signature g ON g.seq = m.seq`

/** Row of a model as it is stored, with the names of its store. */
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
  is_signed: 0 | 1
  key_hint: string | null
  verdict: 'valid' | 'invalid' | null
}

/** Finds one model; undefined when none matches. @param where constant SQL, so that its statement is kept */
export function findModel(state: StateDb, where: string, ...values: unknown[]): ModelRecord | undefined {
  const row = statement<ModelRow>(state.db, `${MODEL_SELECT} WHERE ${where}`).get(...values)
  return row === undefined ? undefined : toModelRecord(row)
}

/** Finds the record that was answered when an origin was first registered. */
export function findOrigin(
  { db }: StateDb,
  { node, modelId }: { node: string; modelId: string },
  storeId: number,
): ModelRecord | undefined {
  const row = statement<{ answer: string }>(
    db,
    'SELECT answer FROM model_origin WHERE origin_node = ? AND origin_model_id = ? AND store_id = ?',
  ).get(node, modelId, storeId)
  // answers of earlier versions have no signature
  return row === undefined ? undefined : { signature: null, ...JSON.parse(row.answer) }
}

/** Converts a row. @throws SyntaxError for damaged JSON */
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
    chain: JSON.parse(row.chain),
    isDamaged: row.damaged_at_us !== null,
    signature: row.is_signed === 1 ? { keyHint: row.key_hint, verdict: row.verdict } : null,
  }
}
