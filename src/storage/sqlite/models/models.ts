import { modelFault } from '../../models/model-fault.js'
import type { ModelCounts, ModelDigest, ModelFault, ModelRows } from '../../models/models.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { addModel, addModels } from './add-model.js'
import { findModel, findOrigin, MODEL_SELECT, type ModelRow, toModelRecord } from './model-row.js'
import { createReleased } from './released.js'
import { createSignatures } from './signatures.js'

/** Condition of a model that callers may see. */
const SHOWN = 'm.deleted_at_us IS NULL AND m.quarantined IS NULL'

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
  // as `stateOf` of the signature policy
  signature: {
    sql: `CASE WHEN g.seq IS NULL THEN 'none' WHEN g.verdict = 'invalid' THEN 'invalid'
      WHEN g.verdict = 'valid' AND g.key_hint IN (SELECT value FROM trusted) THEN 'valid' ELSE 'unknown_key' END`,
    type: 'text',
  },
}

/** Creates the rows of models of `state.db`. */
export function createModelRows(state: StateDb, clock: TrustedClock): ModelRows {
  return {
    ...modelReads(state),
    ...modelWrites(state, clock),
    ...createReleased(state),
    ...createSignatures(state),
  }
}

type ReleasedName = 'isReleased' | 'released' | 'forgetReleased'
type SignatureName = 'signatureOf' | 'openSignatures' | 'judgeSignatures'
type WriteName = 'add' | 'addAll' | 'remove' | 'purge' | 'setDamaged' | 'quarantineBadRows'

function modelReads(state: StateDb): Omit<ModelRows, WriteName | ReleasedName | SignatureName> {
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
    listBases: async (storeId, wanted) => listBases(state, storeId, wanted),
    surplus: async (kept, limit) => statement<string>(db, SURPLUS).pluck().all(kept, limit),
    async list(storeId, query, trustedHints = []) {
      const tail = listTail(FIELDS, 'm.seq', query)
      const sql = `WITH trusted AS (SELECT value FROM json_each(?))
        ${MODEL_SELECT} WHERE m.store_id = ? AND ${SHOWN} AND ${tail.sql}`
      const values = [JSON.stringify(trustedHints), storeId, ...tail.values]
      return queryOnce<ModelRow>(db, sql, values).map(toModelRecord)
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
      writeFreeing(state, () => {
        const model = findModel(state, `m.model_id = ? AND ${SHOWN}`, modelId)
        if (model === undefined) return undefined
        statement(db, 'UPDATE model SET deleted_at_us = ? WHERE seq = ?').run(clock.nowUs(), model.seq)
        statement(db, `${PURGE} AND seq = ?`).run(model.seq)
        return model
      }),
    purge: () => writeFreeing(state, () => statement(db, PURGE).run().changes),
    setDamaged: (sha256, isDamaged) =>
      writeState(state, () => {
        const damagedAtUs = isDamaged ? clock.nowUs() : null
        return statement(db, SET_DAMAGED).run(damagedAtUs, sha256, isDamaged ? 1 : 0).changes
      }),
    quarantineBadRows: (afterSeq, limit) => quarantineBadRows(state, afterSeq, limit),
  }
}

/** A complete upload refers to its bytes before the model is registered. */
const IS_NAMED = `SELECT 1 FROM model WHERE sha256 = :sha256
  UNION ALL SELECT 1 FROM upload WHERE sha256 = :sha256 AND model_id IS NULL AND offset_bytes = size_bytes LIMIT 1`

const SET_DAMAGED = `UPDATE model SET damaged_at_us = ? WHERE sha256 = ? AND (damaged_at_us IS NULL) = ?`

/** Removes deleted models that no feedback waits for. */
const PURGE = `DELETE FROM model WHERE deleted_at_us IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM transfer t WHERE t.model_id = model.model_id AND t.kind = 'feedback' AND t.state IN ('queued', 'sending'))`

/**
 * Models beyond the newest of their store, kind and state. A transfer that has failed may be tried again while
 * its upstream is there. An unfinished upload of a delta needs the bytes that the delta was made from.
 */
const SURPLUS = `SELECT model_id FROM (
    SELECT m.seq, m.model_id, m.sha256, row_number() OVER (PARTITION BY store_id, kind, state ORDER BY seq DESC) AS rank
    FROM model AS m WHERE ${SHOWN} AND m.damaged_at_us IS NULL) AS ranked
  WHERE rank > ? AND NOT EXISTS (SELECT 1 FROM transfer AS t
    WHERE t.model_id = ranked.model_id AND t.kind = 'feedback' AND (t.state IN ('queued', 'sending')
      OR (t.state = 'failed' AND EXISTS (SELECT 1 FROM upstream AS u WHERE u.upstream_id = t.upstream_id))))
    AND sha256 NOT IN (SELECT json_extract(params, '$.delta.base') FROM upload
      WHERE model_id IS NULL AND json_valid(params) AND json_extract(params, '$.delta.base') IS NOT NULL)
  ORDER BY seq LIMIT ?`

/** Rows of a store among which `listBases` looks for a kind: its cost must not grow with the store. */
const MAX_LOOKED_AT = 200

const BASES = `SELECT sha256 FROM (SELECT * FROM model m WHERE store_id = :storeId AND state = 40 AND ${SHOWN}
    ORDER BY seq DESC LIMIT 1)
  WHERE damaged_at_us IS NULL AND sha256 <> :sha256
  UNION ALL
  SELECT sha256 FROM (SELECT * FROM model m WHERE store_id = :storeId AND seq < :beforeSeq ORDER BY seq DESC
    LIMIT ${MAX_LOOKED_AT}) m
  WHERE kind = :kind AND damaged_at_us IS NULL AND ${SHOWN} AND sha256 <> :sha256`

function listBases(
  { db }: StateDb,
  storeId: number,
  { kind, sha256, beforeSeq = Number.MAX_SAFE_INTEGER, limit }: Parameters<ModelRows['listBases']>[1],
): string[] {
  const rows = statement<{ sha256: string }>(db, BASES).all({ storeId, kind, sha256, beforeSeq })
  return [...new Set(rows.map((row) => row.sha256))].slice(0, limit)
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

/**
 * Hides damaged rows. A row passed these checks when it was written, so one that fails them was damaged
 * since.
 */
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
    const reason = modelFault(row)
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

function countModels({ db }: StateDb): ModelCounts {
  const counts = statement<ModelCounts>(
    db,
    `SELECT count(*) AS models, coalesce(sum(size_bytes), 0) AS bytes, count(damaged_at_us) AS damaged,
       count(quarantined) AS quarantined FROM model WHERE deleted_at_us IS NULL`,
  ).get()
  return counts as ModelCounts // counts have one row whatever is stored
}
