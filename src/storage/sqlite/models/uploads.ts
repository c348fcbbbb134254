import type { UploadRecord, UploadRows } from '../../models/uploads.js'
import type { TrustedClock } from '../../work/clock.js'
import { oneValue, statement } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface UploadRow {
  upload_id: string
  key_id: string
  sha256: string
  size_bytes: number
  offset_bytes: number
  params: string
  created_at_us: number
  active_at_us: number
  model_id: string | null
}

/** Creates the rows of resumable uploads of `state.db`. */
export function createUploadRows(state: StateDb, clock: TrustedClock): UploadRows {
  const { db } = state
  const findOne = (where: string, ...values: unknown[]) => {
    const row = statement<UploadRow>(db, `SELECT * FROM upload WHERE ${where}`).get(...values)
    return row === undefined ? undefined : toUploadRecord(row)
  }
  const write = async (sql: string, ...values: unknown[]) => {
    await writeState(state, () => statement(db, sql).run(...values))
  }
  return {
    async create(upload) {
      const { uploadId, keyId, sha256, sizeBytes, params } = upload
      const nowUs = clock.nowUs()
      await write(INSERT, uploadId, keyId, sha256, sizeBytes, params, nowUs, nowUs)
      return { ...upload, offsetBytes: 0, createdAtUs: nowUs, activeAtUs: nowUs, modelId: null }
    },
    find: async (uploadId) => findOne('upload_id = ?', uploadId),
    findSame: async (keyId, sha256, params) =>
      findOne('key_id = ? AND sha256 = ? AND params = ? AND model_id IS NULL', keyId, sha256, params),
    advance: (uploadId, offsetBytes) => write(ADVANCE, offsetBytes, clock.nowUs(), uploadId),
    remove: (uploadId) =>
      writeFreeing(state, () => {
        statement(db, 'DELETE FROM upload WHERE upload_id = ?').run(uploadId)
      }),
    listIdle: async (beforeUs, limit) =>
      statement<UploadRow>(db, 'SELECT * FROM upload WHERE active_at_us < ? ORDER BY active_at_us LIMIT ?')
        .all(beforeUs, limit)
        .map(toUploadRecord),
    listUnregistered: async (limit) =>
      statement<{ upload_id: string }>(db, UNREGISTERED)
        .all(limit)
        .map((row) => row.upload_id),
    ids: async () =>
      statement<{ upload_id: string }>(db, 'SELECT upload_id FROM upload')
        .all()
        .map((row) => row.upload_id),
    async missingBytes() {
      const sql = 'SELECT total(size_bytes - offset_bytes) FROM upload WHERE model_id IS NULL'
      return oneValue(db, sql)
    },
    async countOpen(keyId) {
      const sql = 'SELECT count(*) FROM upload WHERE key_id = ? AND model_id IS NULL'
      return oneValue(db, sql, keyId)
    },
  }
}

const INSERT = `INSERT INTO upload (upload_id, key_id, sha256, size_bytes, offset_bytes, params, created_at_us, active_at_us)
  VALUES (?, ?, ?, ?, 0, ?, ?, ?)`
const UNREGISTERED = `SELECT upload_id FROM upload WHERE model_id IS NULL AND offset_bytes = size_bytes
  ORDER BY created_at_us LIMIT ?`
const ADVANCE = 'UPDATE upload SET offset_bytes = ?, active_at_us = ? WHERE upload_id = ?'

function toUploadRecord(row: UploadRow): UploadRecord {
  return {
    uploadId: row.upload_id,
    keyId: row.key_id,
    sha256: row.sha256,
    sizeBytes: row.size_bytes,
    offsetBytes: row.offset_bytes,
    params: row.params,
    createdAtUs: row.created_at_us,
    activeAtUs: row.active_at_us,
    modelId: row.model_id,
  }
}
