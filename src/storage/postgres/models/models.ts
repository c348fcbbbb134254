import { modelFault } from '../../models/model-fault.js'
import type { ModelCounts, ModelDigest, ModelFault, ModelRows } from '../../models/models.js'
import type { TrustedClock } from '../../work/clock.js'
import { storedText } from '../connection/any-text.js'
import { countChanged } from '../connection/count-changed.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { type ListFields, listTail } from '../lists/list-tail.js'
import { addModel, addModels } from './add-model.js'
import { findModel, findOrigin, MODEL_SELECT, type ModelRow, SHOWN, toModelRecord } from './model-row.js'
import { createReleased, deleteModels } from './released.js'
import { createSignatures } from './signatures.js'

const FIELDS: ListFields = {
  model_id: { sql: 'm.model_id', type: 'text' },
  model_kind: { sql: 'm.kind', type: 'text', isAnyText: true },
  model_description: { sql: 'm.description', type: 'text', isAnyText: true },
  model_meta: { sql: 'm.meta', type: 'text' },
  model_hash: { sql: 'm.md5', type: 'text' },
  model_sha256: { sql: 'm.sha256', type: 'text' },
  model_size: { sql: 'm.size_bytes', type: 'int8' },
  model_state: { sql: 'm.state', type: 'int4' },
  hop_count: { sql: 'm.hop_count', type: 'int4' },
  round: { sql: 'm.round', type: 'int4' },
  start_datetime: { sql: 'm.start_us', type: 'timestamptz' },
  end_datetime: { sql: 'm.end_us', type: 'timestamptz' },
  tenant_id: { sql: 'm.tenant_id', type: 'text', isAnyText: true },
  // as `stateOf` of the signature policy
  signature: {
    sql: `(CASE WHEN g.seq IS NULL THEN 'none' WHEN g.verdict = 'invalid' THEN 'invalid'
      WHEN g.verdict = 'valid' AND g.key_hint = ANY($2::text[]) THEN 'valid' ELSE 'unknown_key' END) COLLATE "C"`,
    type: 'text',
  },
}

type ReleasedName = 'isReleased' | 'released' | 'forgetReleased'
type SignatureName = 'signatureOf' | 'openSignatures' | 'judgeSignatures'
type WriteName = 'add' | 'addAll' | 'remove' | 'purge' | 'setDamaged' | 'quarantineBadRows'

/** Creates the rows of models. */
export function createModelRows(db: PostgresDb, clock: TrustedClock): ModelRows {
  return {
    ...modelReads(db),
    ...modelWrites(db, clock),
    ...createReleased(db),
    ...createSignatures(db),
  }
}

function modelReads({ read }: PostgresDb): Omit<ModelRows, WriteName | ReleasedName | SignatureName> {
  return {
    find: (modelId) => findModel(read, `m.model_id = $1 AND ${SHOWN}`, modelId),
    findForTransfer: (modelId) => findModel(read, 'm.model_id = $1 AND m.quarantined IS NULL', modelId),
    findByOrigin: (node, modelId, storeId) => findOrigin(read, { node, modelId }, storeId),
    newest: (storeId, wanted) =>
      findModel(
        read,
        `m.store_id = $1 AND m.state = $2 AND ${SHOWN} ORDER BY m.seq DESC LIMIT 1`,
        storeId,
        wanted,
      ),
    listBases: (storeId, wanted) => listBases(read, storeId, wanted),
    async surplus(kept, limit) {
      const rows = await read.all<{ modelId: string }>(SURPLUS, kept, limit)
      return rows.map(({ modelId }) => modelId)
    },
    async list(storeId, query, trustedHints = []) {
      const { sql, values } = listTail(FIELDS, 'm.seq', query, [storeId, [...trustedHints]])
      // the second parameter is in each text, so that its type is known
      const where = `m.store_id = $1 AND $2::text[] IS NOT NULL AND ${SHOWN} AND ${sql}`
      const rows = await read.once<ModelRow>(`${MODEL_SELECT} WHERE ${where}`, ...values)
      return rows.map(toModelRecord)
    },
    findByDigest: (sha256) =>
      findModel(
        read,
        'm.sha256 = $1 AND m.damaged_at_us IS NULL AND m.quarantined IS NULL ORDER BY m.seq LIMIT 1',
        sha256,
      ),
    isNamed: async (sha256) => (await read.get(IS_NAMED, sha256)) !== undefined,
    digests: (after, limit) => read.all<ModelDigest>(DIGESTS, after, limit),
    async counts() {
      const counts = await read.get<ModelCounts>(COUNTS)
      // no test: counts are always one row
      return counts ?? { models: 0, bytes: 0, damaged: 0, quarantined: 0 }
    },
  }
}

function modelWrites(db: PostgresDb, clock: TrustedClock): Pick<ModelRows, WriteName> {
  return {
    add: (model, options) => addModel(db, clock, { model, options }),
    addAll: (models) => addModels(db, clock, models),
    async remove(modelId) {
      const model = await findModel(db.read, `m.model_id = $1 AND ${SHOWN}`, modelId)
      if (model === undefined) return undefined
      const isRemoved = await db.write(async (rows, { isRepeat }) => {
        const hide = `UPDATE model AS m SET deleted_at_us = $2 WHERE m.seq = $1 AND ${SHOWN}`
        const hidden = await rows.run(hide, model.seq, clock.nowUs())
        await deleteModels(rows, `${PURGED} AND m.seq = $1`, model.seq)
        return hidden > 0 || isRepeat
      })
      return isRemoved ? model : undefined
    },
    purge: () => countChanged(db, (rows) => deleteModels(rows, PURGED)),
    setDamaged: (sha256, isDamaged) =>
      countChanged(db, async (rows) => {
        const set = `UPDATE model SET damaged_at_us = $2 WHERE sha256 = $1 AND (damaged_at_us IS NULL) = $3 RETURNING seq`
        const damagedAtUs = isDamaged ? clock.nowUs() : null
        const changed = await rows.all<{ seq: number }>(set, sha256, damagedAtUs, isDamaged)
        return changed.map(({ seq }) => seq)
      }),
    quarantineBadRows: (afterSeq, limit) => quarantineBadRows(db, afterSeq, limit),
  }
}

/** A complete upload refers to its bytes before the model is registered. */
const IS_NAMED = `SELECT 1 FROM model WHERE sha256 = $1
  UNION ALL SELECT 1 FROM upload WHERE sha256 = $1 AND model_id IS NULL AND offset_bytes = size_bytes LIMIT 1`

/** Deleted models that no feedback waits for. */
const PURGED = `m.deleted_at_us IS NOT NULL AND NOT EXISTS (SELECT 1 FROM transfer AS t
  WHERE t.model_id = m.model_id AND t.kind = 'feedback' AND t.state IN ('queued', 'sending'))`

const DIGESTS = `SELECT sha256, min(size_bytes) AS "sizeBytes", bool_or(damaged_at_us IS NOT NULL) AS "isDamaged"
  FROM model WHERE sha256 > $1 GROUP BY sha256 ORDER BY sha256 LIMIT $2`

const COUNTS = `SELECT count(*) AS models, coalesce(sum(size_bytes), 0)::bigint AS bytes,
  count(damaged_at_us) AS damaged, count(quarantined) AS quarantined FROM model WHERE deleted_at_us IS NULL`

/**
 * Models beyond the newest of their store, kind and state. A transfer that has failed may be tried again while
 * its upstream is there. An unfinished upload of a delta needs the bytes that the delta was made from.
 */
const SURPLUS = `SELECT ranked.model_id AS "modelId" FROM (
    SELECT m.seq, m.model_id, m.sha256,
      row_number() OVER (PARTITION BY m.store_id, m.kind, m.state ORDER BY m.seq DESC) AS place
    FROM model AS m WHERE ${SHOWN} AND m.damaged_at_us IS NULL) AS ranked
  WHERE place > $1 AND NOT EXISTS (SELECT 1 FROM transfer AS t
    WHERE t.model_id = ranked.model_id AND t.kind = 'feedback' AND (t.state IN ('queued', 'sending')
      OR (t.state = 'failed' AND EXISTS (SELECT 1 FROM upstream AS u WHERE u.upstream_id = t.upstream_id))))
    AND NOT EXISTS (SELECT 1 FROM upload AS w WHERE w.model_id IS NULL AND w.delta_base = ranked.sha256)
  ORDER BY seq LIMIT $2`

/** Rows of a store among which `listBases` looks for a kind: its cost must not grow with the store. */
const MAX_LOOKED_AT = 200

const FETCHED = `SELECT sha256 FROM (SELECT * FROM model AS m WHERE m.store_id = $1 AND m.state = 40 AND ${SHOWN}
    ORDER BY m.seq DESC LIMIT 1) AS newest WHERE damaged_at_us IS NULL AND sha256 <> $2`
const OF_KIND = `SELECT sha256 FROM (SELECT * FROM model AS m WHERE m.store_id = $1 AND m.seq < $3
    ORDER BY m.seq DESC LIMIT ${MAX_LOOKED_AT}) AS m
  WHERE m.kind = $4 AND m.damaged_at_us IS NULL AND ${SHOWN} AND sha256 <> $2 ORDER BY m.seq DESC`

async function listBases(
  rows: Rows,
  storeId: number,
  { kind, sha256, beforeSeq = Number.MAX_SAFE_INTEGER, limit }: Parameters<ModelRows['listBases']>[1],
): Promise<string[]> {
  const fetched = await rows.all<{ sha256: string }>(FETCHED, storeId, sha256)
  const ofKind = await rows.all<{ sha256: string }>(OF_KIND, storeId, sha256, beforeSeq, storedText(kind))
  return [...new Set([...fetched, ...ofKind].map((row) => row.sha256))].slice(0, limit)
}

/** Hides damaged rows. A row passed these checks when it was written, so one that fails them was damaged since. */
async function quarantineBadRows(
  db: PostgresDb,
  afterSeq: number,
  limit: number,
): Promise<{ lastSeq: number | null; faults: ModelFault[] }> {
  const rows = await db.read.all<ModelRow>(
    `${MODEL_SELECT} WHERE m.seq > $1 AND m.quarantined IS NULL ORDER BY m.seq LIMIT $2`,
    ...[afterSeq, limit],
  )
  const faults = rows.flatMap((row) => {
    const reason = modelFault(row)
    return reason === null ? [] : [{ seq: row.seq, modelId: row.modelId, reason }]
  })
  if (faults.length > 0) {
    const hide = `UPDATE model AS m SET quarantined = f.reason
      FROM unnest($1::bigint[], $2::text[]) AS f (seq, reason) WHERE m.seq = f.seq`
    const [seqs, reasons] = [faults.map(({ seq }) => seq), faults.map(({ reason }) => reason)]
    await db.write((write) => write.run(hide, seqs, reasons))
  }
  return { lastSeq: rows.at(-1)?.seq ?? null, faults }
}
