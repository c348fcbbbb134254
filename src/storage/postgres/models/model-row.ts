import type { ModelRecord, ModelSignature } from '../../models/models.js'
import { readStoredText, storedText } from '../connection/any-text.js'
import type { Rows, Value } from '../connection/database.js'

/** Selects the columns of `ModelRow`. */
export const MODEL_SELECT = `SELECT m.seq, m.model_id AS "modelId", m.store_id AS "storeId", s.name AS "storeName",
    s.long_form AS "storeLongForm", m.kind, m.description, m.meta, m.md5, m.sha256, m.size_bytes AS "sizeBytes", m.state,
    m.hop_count AS "hopCount", m.round, m.lng, m.lat, m.start_us AS "startUs", m.end_us AS "endUs",
    m.tenant_id AS "tenantId", m.origin_node AS "originNode", m.origin_model_id AS "originModelId", m.chain,
    m.damaged_at_us IS NOT NULL AS "isDamaged", g.seq IS NOT NULL AS "isSigned", g.key_hint AS "keyHint", g.verdict
  FROM model AS m JOIN model_store AS s USING (store_id) LEFT JOIN model_signature AS g ON g.seq = m.seq`

/** Condition of a model that callers may see. */
export const SHOWN = 'm.deleted_at_us IS NULL AND m.quarantined IS NULL'

/** Row of a model as it is stored, with the names of its store. */
export interface ModelRow extends Omit<ModelRecord, 'chain' | 'signature'>, ModelSignature {
  chain: string
  isSigned: boolean
}

/** Finds one model; undefined when none matches. @param where constant SQL, so that its statement is kept */
export async function findModel(
  rows: Rows,
  where: string,
  ...values: Value[]
): Promise<ModelRecord | undefined> {
  const row = await rows.get<ModelRow>(`${MODEL_SELECT} WHERE ${where}`, ...values)
  return row === undefined ? undefined : toModelRecord(row)
}

/** Finds the record that was answered when an origin was first registered. */
export async function findOrigin(
  rows: Rows,
  { node, modelId }: { node: string; modelId: string },
  storeId: number,
): Promise<ModelRecord | undefined> {
  const row = await rows.get<{ answer: string }>(
    'SELECT answer FROM model_origin WHERE origin_node = $1 AND origin_model_id = $2 AND store_id = $3',
    ...[storedText(node), storedText(modelId), storeId],
  )
  return row === undefined ? undefined : JSON.parse(row.answer)
}

/** Converts a row. @throws SyntaxError for damaged JSON */
export function toModelRecord(row: ModelRow): ModelRecord {
  const { chain, isSigned, keyHint, verdict, originNode, originModelId, ...same } = row
  return {
    ...same,
    kind: readStoredText(row.kind),
    description: readStoredText(row.description),
    tenantId: readStoredText(row.tenantId),
    originNode: originNode === null ? null : readStoredText(originNode),
    originModelId: originModelId === null ? null : readStoredText(originModelId),
    chain: JSON.parse(chain),
    signature: isSigned ? { keyHint, verdict } : null,
  }
}
