import { missingFile, readRecords, takenPlace } from '../../records/read-records.js'
import type { CheckedRow } from '../../records/record.js'
import { PREFIX_ID } from '../../records/record-files.js'
import type { LoaderTable, PutOptions, PutResult } from '../../tables.js'
import { createPause } from '../../work/pause.js'
import { asyncTransaction, type Db } from '../connection/database.js'
import { valueLimitOf } from '../connection/value-limit.js'
import { findFile, hasOtherFile } from './files.js'
import { MAX_SEGMENT_ROWS } from './segment-index.js'
import { createRowWriter } from './writer.js'

/** Rows between two checks of the clock and of cancellation: a check costs as much as a small column. */
const CHECK_ROWS = 64

/**
 * Stores records in one transaction: all of them or none. The caller holds the write lock.
 *
 * @throws AppError BAD_RECORD (`data`: `{ index, column, reason }`) for the first record that does not fit,
 *   RECORD_EXISTS, CANCELLED, DISK_FULL
 */
export async function putRecords(
  db: Db,
  table: LoaderTable,
  records: Iterable<unknown>,
  options: PutOptions,
): Promise<PutResult> {
  return await asyncTransaction(db, () => putRecordsWithin(db, table, records, options))
}

/** Stores records as `putRecords` does, in a transaction that the caller has begun. */
export async function putRecordsWithin(
  db: Db,
  table: LoaderTable,
  records: Iterable<unknown>,
  options: PutOptions,
): Promise<PutResult> {
  return await putRowsWithin(db, table, readRows(db, table, records, options), options)
}

/** Reads records as `readRecords` does, with the limit of the connection. @throws AppError BAD_RECORD */
export function readRows(
  db: Db,
  table: LoaderTable,
  records: Iterable<unknown>,
  options: Pick<PutOptions, 'env'>,
): Iterable<CheckedRow> {
  return readRecords(table, records, options, valueLimitOf(db))
}

/** Stores rows of `readRows` as `putRecords` does, in a transaction that the caller has begun. */
export async function putRowsWithin(
  db: Db,
  table: LoaderTable,
  rows: Iterable<CheckedRow>,
  options: PutOptions,
): Promise<PutResult> {
  const writer = createRowWriter(db, table, options, options.env)
  const pause = createPause(undefined, options.sliceMs ?? Infinity)
  for (const row of rows) {
    const index = writer.counters.upload
    if (row.files.length > 0) await keepFiles(db, table, row, index, options)
    const isWritten = writer.put(row)
    if (isWritten && row.files.length > 0) refuseTakenPlaces(db, table, row, index)
    if (index % CHECK_ROWS === 0) {
      options.throwIfCancelled?.()
      const turn = pause()
      if (turn !== undefined) await turn
    }
  }
  const isMergeDue = writer.finish(options.maxMergeRows ?? MAX_SEGMENT_ROWS)
  return { counters: writer.counters, isMergeDue }
}

/** Keeps the bytes before the row is stored: a row never names bytes that are missing. */
async function keepFiles(
  db: Db,
  table: LoaderTable,
  row: CheckedRow,
  index: number,
  options: PutOptions,
): Promise<void> {
  for (const part of row.files) {
    // a path names the file of an earlier record, which may be part of the same call
    const digest =
      'bytes' in part
        ? await options.putFile(part.bytes)
        : findFile(db, table, { prefixId: PREFIX_ID, pathId: part.pathId, name: part.name })
    if (digest === undefined) throw missingFile(table, part.slot, index)
    row.values[part.slot] = digest
  }
}

/**
 * Refuses a file at a place that has other bytes, in this row or another one: only one of the two could be
 * read. Called after the row is written, so that the file that it replaces is gone.
 */
function refuseTakenPlaces(db: Db, table: LoaderTable, row: CheckedRow, index: number): void {
  const stored = (name: string) => row.values[table.columns.findIndex((column) => column.name === name)]
  for (const { slot } of row.files) {
    const file = table.columns[slot]?.file
    if (!file) continue // no test: a part has a file column
    const { pathIdColumn, nameColumn } = file
    const place = {
      prefixId: PREFIX_ID,
      pathId: String(stored(pathIdColumn)),
      name: String(stored(nameColumn)),
    }
    if (hasOtherFile(db, table, place, String(row.values[slot]))) throw takenPlace(place, pathIdColumn, index)
  }
}
