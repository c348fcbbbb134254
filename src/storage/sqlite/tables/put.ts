import { AppError } from '../../../errors.js'
import { describeFound } from '../../../messages/fault-text.js'
import { sizeFault } from '../../columns/value-size.js'
import { createPause } from '../../pause.js'
import type { Column, LoaderTable, PutOptions, PutResult } from '../../tables.js'
import { asyncTransaction, type Db } from '../connection/database.js'
import { valueLimitOf } from '../connection/value-limit.js'
import { findFile, hasOtherFile } from './files.js'
import { type CheckedRow, readRecord } from './record.js'
import { PREFIX_ID } from './record-files.js'
import { planRecords, type RecordFault } from './record-plan.js'
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

/**
 * Reads records and checks them against their table, one at a time. Needs no transaction.
 *
 * @throws AppError BAD_RECORD (from the iterator)
 */
export function* readRows(
  db: Db,
  table: LoaderTable,
  records: Iterable<unknown>,
  { env }: Pick<PutOptions, 'env'>,
): Generator<CheckedRow> {
  const plan = planRecords(table, env)
  const maxBytes = valueLimitOf(db)
  let index = 0
  for (const record of records) {
    const row = readRecord(plan, record)
    if ('reason' in row) throw badRecord(index, row)
    const oversize = sizeFault(row.values, (slot) => (table.columns[slot] as Column).name, maxBytes)
    if (oversize !== undefined) throw badRecord(index, oversize)
    yield row
    index++
  }
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

/** Makes the error for a record that does not fit; callers name its place in their own terms. */
function badRecord(index: number, { column, reason }: RecordFault): AppError {
  const message = column === null ? reason : `${column}: ${reason}`
  return new AppError('BAD_RECORD', { index, column, reason }, { message })
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
    if (digest === undefined) {
      const property = table.columns[part.slot]?.file?.relativePathProperty ?? null // no test: a part has a file column
      const reason = 'found a path at which no file is stored, expected the path of a stored file, or bytes'
      throw badRecord(index, { column: property, reason })
    }
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
    if (!hasOtherFile(db, table, place, String(row.values[slot]))) continue
    const found = `${pathIdColumn} ${describeFound(place.pathId)} with the file name ${describeFound(place.name)}`
    const reason = `found ${found}, the place of another file of this table, expected a place of its own`
    throw badRecord(index, { column: pathIdColumn, reason })
  }
}
