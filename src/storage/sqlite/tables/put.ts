import { AppError } from '../../../errors.js'
import type { LoaderTable, PutOptions, PutResult } from '../../tables.js'
import { asyncTransaction, type Db } from '../connection/database.js'
import { findFile } from './files.js'
import { type CheckedRow, readRecord } from './record.js'
import { type FilePart, PREFIX_ID } from './record-files.js'
import { planRecords, type RecordFault } from './record-plan.js'
import { createRowWriter } from './writer.js'

/** Rows between two looks at the clock and at cancellation: a look costs as much as a small column. */
const CHECK_ROWS = 64

/**
 * Stores records in one transaction: all of them or none. The caller holds the write lock.
 *
 * @throws AppError BAD_RECORD (`data` = `{ index, column, reason }`) for the first record that does not fit,
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

/** The same in a transaction of the caller's. */
export async function putRecordsWithin(
  db: Db,
  table: LoaderTable,
  records: Iterable<unknown>,
  options: PutOptions,
): Promise<PutResult> {
  const plan = planRecords(table, options.env)
  const writer = createRowWriter(db, table, options.ifExists, options.env)
  let sliceEndsAt = performance.now() + (options.sliceMs ?? Infinity)
  for (const record of records) {
    const index = writer.counters.upload
    const row = readRecord(plan, record)
    if ('reason' in row) throw badRecord(index, row)
    if (row.files.length > 0) await keepFiles(db, table, row, index, options)
    writer.put(row)
    if (index % CHECK_ROWS === 0) {
      options.throwIfCancelled?.()
      if (performance.now() > sliceEndsAt) {
        await new Promise((resolve) => setImmediate(resolve))
        sliceEndsAt = performance.now() + (options.sliceMs ?? Infinity)
      }
    }
  }
  const isMergeDue = writer.finish(options.maxMergeRows)
  return { counters: writer.counters, isMergeDue }
}

/** The error for a record that does not fit. */
export function badRecord(index: number, { column, reason }: RecordFault): AppError {
  const at = column === null ? '' : `, ${column}`
  return new AppError(
    'BAD_RECORD',
    { index, column, reason },
    { message: `record_set[${index}]${at}: ${reason}` },
  )
}

/** Bytes first, then the row: a row never names bytes that are not there. */
async function keepFiles(
  db: Db,
  table: LoaderTable,
  row: CheckedRow,
  index: number,
  options: PutOptions,
): Promise<void> {
  for (const part of row.files) {
    const digest = 'bytes' in part ? await options.putFile(part.bytes) : findFileDigest(db, table, part)
    if (digest === undefined) {
      const property = table.columns[part.slot]?.file?.relativePathProperty ?? null
      throw badRecord(index, {
        column: property,
        reason: 'found no file stored there, expected one, or its bytes',
      })
    }
    row.values[part.slot] = digest
  }
}

/** A record may point to a file of an earlier one, also of the same call. */
function findFileDigest(db: Db, table: LoaderTable, part: FilePart): string | undefined {
  if ('bytes' in part) return undefined
  return findFile(db, table, { prefixId: PREFIX_ID, pathId: part.pathId, name: part.name })
}
