import type { TrustedClock } from '../../clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** A resumable upload. Its bytes up to `offsetBytes` are on disk beyond a power cut. */
export interface UploadRecord {
  uploadId: string
  /** key that began it: nobody else may go on */
  keyId: string
  sha256: string
  sizeBytes: number
  offsetBytes: number
  /** JSON text: what completion registers */
  params: string
  createdAtUs: number
  activeAtUs: number
  /** the model it became, null before */
  modelId: string | null
}

/** Resumable uploads under way. */
export interface UploadRows {
  create(
    upload: Omit<UploadRecord, 'offsetBytes' | 'createdAtUs' | 'activeAtUs' | 'modelId'>,
  ): Promise<UploadRecord>
  find(uploadId: string): Promise<UploadRecord | undefined>
  /** an unfinished one of the same key, bytes and params: a client that lost the address goes on with it */
  findSame(keyId: string, sha256: string, params: string): Promise<UploadRecord | undefined>
  /** tells the new offset, once its bytes are safe */
  advance(uploadId: string, offsetBytes: number): Promise<void>
  remove(uploadId: string): Promise<void>
  /** without activity since an instant */
  listIdle(beforeUs: number, limit: number): Promise<UploadRecord[]>
  ids(): Promise<string[]>
  /** of one key that are not whole yet */
  countOpen(keyId: string): Promise<number>
}

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

export function createUploadRows(state: StateDb, clock: TrustedClock): UploadRows {
  const { db } = state
  const one = (where: string, ...values: unknown[]) => {
    const row = statement<UploadRow>(db, `SELECT * FROM upload WHERE ${where}`).get(...values)
    return row === undefined ? undefined : toUploadRecord(row)
  }
  return {
    async create({ uploadId, keyId, sha256, sizeBytes, params }) {
      const nowUs = clock.nowUs()
      await writeState(state, () =>
        statement(
          db,
          `INSERT INTO upload (upload_id, key_id, sha256, size_bytes, offset_bytes, params, created_at_us, active_at_us)
           VALUES (?, ?, ?, ?, 0, ?, ?, ?)`,
        ).run(uploadId, keyId, sha256, sizeBytes, params, nowUs, nowUs),
      )
      return {
        uploadId,
        keyId,
        sha256,
        sizeBytes,
        offsetBytes: 0,
        params,
        createdAtUs: nowUs,
        activeAtUs: nowUs,
        modelId: null,
      }
    },
    find: async (uploadId) => one('upload_id = ?', uploadId),
    findSame: async (keyId, sha256, params) =>
      one('key_id = ? AND sha256 = ? AND params = ? AND model_id IS NULL', keyId, sha256, params),
    async advance(uploadId, offsetBytes) {
      await writeState(state, () =>
        statement(db, 'UPDATE upload SET offset_bytes = ?, active_at_us = ? WHERE upload_id = ?').run(
          offsetBytes,
          clock.nowUs(),
          uploadId,
        ),
      )
    },
    async remove(uploadId) {
      await writeState(state, () => statement(db, 'DELETE FROM upload WHERE upload_id = ?').run(uploadId))
    },
    listIdle: async (beforeUs, limit) =>
      statement<UploadRow>(db, 'SELECT * FROM upload WHERE active_at_us < ? ORDER BY active_at_us LIMIT ?')
        .all(beforeUs, limit)
        .map(toUploadRecord),
    ids: async () =>
      statement<{ upload_id: string }>(db, 'SELECT upload_id FROM upload')
        .all()
        .map((row) => row.upload_id),
    async countOpen(keyId) {
      const sql = 'SELECT count(*) AS n FROM upload WHERE key_id = ? AND model_id IS NULL'
      return statement<{ n: number }>(db, sql).get(keyId)?.n ?? 0
    },
  }
}

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
