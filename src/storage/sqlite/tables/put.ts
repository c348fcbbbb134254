import { AppError } from '../../../errors.js'
import { asyncTransaction, type Db } from '../connection/database.js'
import { findFile } from './files.js'
import { type CheckedRow, planRecords, type RecordEnv, type RecordFault, readRecord } from './record.js'
import { type FilePart, PREFIX_ID } from './record-files.js'
import type { LoaderTable } from './types.js'
import { type Counters, createRowWriter, type IfExists } from './writer.js'

export interface PutOptions {
  ifExists: IfExists
  env: RecordEnv
  /** keeps the bytes of a file and returns their digest; they are on disk then */
  putFile(bytes: Uint8Array): Promise<string>
  /** rows that one merge of the spatial index may rewrite in this call */
  maxMergeRows: number
  /** the longest stretch of work without letting the event loop turn, ms; absent where nobody waits for it */
  sliceMs?: number
  /** looked at now and then: throws when nobody wants the result any more */
  throwIfCancelled?(): void
}

export interface PutResult {
  counters: Counters
  /** the spatial index has a merge due that was too large for this call */
  isMergeDue: boolean
}

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
