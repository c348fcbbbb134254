import { AppError } from '../../../errors.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb } from '../connection/database.js'

/** A piece of an upload, whose bytes are an object. */
export interface UploadPiece {
  readonly startBytes: number
  readonly sizeBytes: number
  readonly sha256: string
}

/** Rows of pieces. They tell which bytes of an upload exist, whatever process took them. */
export interface UploadPieceRows {
  /**
   * Records a piece behind those that are there, and the offset behind it.
   *
   * @throws AppError UNAVAILABLE when another process went on with the upload
   */
  add(uploadId: string, piece: UploadPiece): Promise<void>
  /** Returns the pieces in the order of their bytes. */
  list(uploadId: string): Promise<UploadPiece[]>
  /** Returns all pieces of uploads that are no model yet, those of an upload in the order of their bytes. */
  listAll(): Promise<(UploadPiece & { uploadId: string })[]>
  /** Forgets the pieces of an upload. @returns false when there were none */
  clear(uploadId: string): Promise<boolean>
}

const COLUMNS = 'start_bytes AS "startBytes", size_bytes AS "sizeBytes", sha256'

/** Creates the rows of pieces. */
export function createUploadPieceRows(db: PostgresDb, clock: TrustedClock): UploadPieceRows {
  return {
    async add(uploadId, { startBytes, sizeBytes, sha256 }) {
      const end = startBytes + sizeBytes
      await db.write(async (rows, { isRepeat }) => {
        const has = 'SELECT 1 FROM upload_piece WHERE upload_id = $1 AND start_bytes = $2 AND sha256 = $3'
        if (isRepeat && (await rows.get(has, uploadId, startBytes, sha256)) !== undefined) return
        const move = `UPDATE upload SET offset_bytes = $3, active_at_us = $4
          WHERE upload_id = $1 AND offset_bytes = $2 AND model_id IS NULL`
        if ((await rows.run(move, uploadId, startBytes, end, clock.nowUs())) === 0) throw wentOn()
        await rows.run(
          'INSERT INTO upload_piece VALUES ($1, $2, $3, $4)',
          uploadId,
          startBytes,
          sizeBytes,
          sha256,
        )
      })
    },
    list: (uploadId) =>
      db.read.all<UploadPiece>(
        `SELECT ${COLUMNS} FROM upload_piece WHERE upload_id = $1 ORDER BY start_bytes`,
        uploadId,
      ),
    listAll: () =>
      db.read.all<UploadPiece & { uploadId: string }>(
        `SELECT upload_id AS "uploadId", ${COLUMNS} FROM upload_piece
          WHERE upload_id IN (SELECT upload_id FROM upload WHERE model_id IS NULL) ORDER BY upload_id, start_bytes`,
      ),
    clear: async (uploadId) =>
      (await db.write((rows) => rows.run('DELETE FROM upload_piece WHERE upload_id = $1', uploadId))) > 0,
  }
}

/** Returns the error of a process that does not have the last bytes of an upload. */
export function wentOn(): AppError {
  const message = 'Another process went on with this upload: ask for its offset and send from there'
  return new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message })
}
