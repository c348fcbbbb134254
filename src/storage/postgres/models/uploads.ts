import type { UploadRecord, UploadRows } from '../../models/uploads.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Value } from '../connection/database.js'

const SELECT = `SELECT upload_id AS "uploadId", key_id AS "keyId", sha256, size_bytes AS "sizeBytes",
  offset_bytes AS "offsetBytes", params, created_at_us AS "createdAtUs", active_at_us AS "activeAtUs",
  model_id AS "modelId" FROM upload`
const INSERT = `INSERT INTO upload (upload_id, key_id, sha256, size_bytes, offset_bytes, params, created_at_us, active_at_us,
    delta_base)
  VALUES ($1, $2, $3, $4, 0, $5, $6, $6, $7)`

/** Creates the rows of resumable uploads. */
export function createUploadRows(db: PostgresDb, clock: TrustedClock): UploadRows {
  const ids = async (text: string, ...values: Value[]) =>
    (await db.read.all<{ uploadId: string }>(text, ...values)).map(({ uploadId }) => uploadId)
  const number = async (text: string, ...values: Value[]) => {
    const row = await db.read.get<{ n: number }>(text, ...values)
    // no test: a count is always one row
    return row?.n ?? 0
  }
  return {
    async create({ uploadId, keyId, sha256, sizeBytes, params }) {
      const nowUs = clock.nowUs()
      await db.write(async (rows, { isRepeat }) => {
        const made = isRepeat
          ? await rows.get('SELECT 1 FROM upload WHERE upload_id = $1', uploadId)
          : undefined
        if (made === undefined)
          await rows.run(INSERT, uploadId, keyId, sha256, sizeBytes, params, nowUs, deltaBaseOf(params))
      })
      return {
        ...{ uploadId, keyId, sha256, sizeBytes, offsetBytes: 0, params },
        ...{ createdAtUs: nowUs, activeAtUs: nowUs, modelId: null },
      }
    },
    find: (uploadId) => db.read.get<UploadRecord>(`${SELECT} WHERE upload_id = $1`, uploadId),
    findSame: (keyId, sha256, params) =>
      db.read.get<UploadRecord>(
        `${SELECT} WHERE key_id = $1 AND sha256 = $2 AND params = $3 AND model_id IS NULL
          ORDER BY upload_id LIMIT 1`,
        ...[keyId, sha256, params],
      ),
    async advance(uploadId, offsetBytes) {
      // one whose model is there stays complete, whatever another process finds
      const update = `UPDATE upload SET offset_bytes = $2, active_at_us = $3
        WHERE upload_id = $1 AND model_id IS NULL`
      await db.write((rows) => rows.run(update, uploadId, offsetBytes, clock.nowUs()))
    },
    async remove(uploadId) {
      await db.write((rows) => rows.run('DELETE FROM upload WHERE upload_id = $1', uploadId))
    },
    listIdle: (beforeUs, limit) =>
      db.read.all<UploadRecord>(
        `${SELECT} WHERE active_at_us < $1 ORDER BY active_at_us, upload_id LIMIT $2`,
        ...[beforeUs, limit],
      ),
    listUnregistered: (limit) =>
      ids(
        `SELECT upload_id AS "uploadId" FROM upload WHERE model_id IS NULL AND offset_bytes = size_bytes
          ORDER BY created_at_us, upload_id LIMIT $1`,
        limit,
      ),
    ids: () => ids('SELECT upload_id AS "uploadId" FROM upload ORDER BY upload_id'),
    countOpen: (keyId) =>
      number('SELECT count(*) AS n FROM upload WHERE key_id = $1 AND model_id IS NULL', keyId),
    missingBytes: () =>
      number(
        'SELECT coalesce(sum(size_bytes - offset_bytes), 0)::bigint AS n FROM upload WHERE model_id IS NULL',
      ),
  }
}

/** Digest of the model from which the delta of an upload was made; null for other uploads. */
function deltaBaseOf(params: string): string | null {
  const { delta }: { delta?: { base?: unknown } } = JSON.parse(params)
  return typeof delta?.base === 'string' ? delta.base : null
}
