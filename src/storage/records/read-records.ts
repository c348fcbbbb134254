import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import { typeOf } from '../columns/column-types.js'
import { sizeFault } from '../columns/value-size.js'
import type { Column, LoaderTable, PutOptions } from '../tables.js'
import { type CheckedRow, readRecord } from './record.js'
import { planRecords, type RecordFault } from './record-plan.js'

/**
 * Reads records and checks them against their table, one at a time.
 *
 * @param maxBytes most bytes of text, bytes and files of one record together
 * @throws AppError BAD_RECORD (from the iterator)
 */
export function* readRecords(
  table: LoaderTable,
  records: Iterable<unknown>,
  { env }: Pick<PutOptions, 'env'>,
  maxBytes: number,
): Generator<CheckedRow> {
  const plan = planRecords(table, env)
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

/** Memory of a row besides its values, and of a value besides its bytes. */
const ROW_BYTES = 200
const VALUE_BYTES = 24

/** Returns about the memory that a checked row takes, bytes. */
export function sizeOfRow({ values, files }: CheckedRow): number {
  let bytes = ROW_BYTES + VALUE_BYTES * values.length
  for (const value of values)
    if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length
  for (const file of files) if ('bytes' in file) bytes += file.bytes.length
  return bytes
}

/** Makes the error for a record that does not fit; callers name its place in their own terms. */
export function badRecord(index: number, { column, reason }: RecordFault): AppError {
  const message = column === null ? reason : `${column}: ${reason}`
  return new AppError('BAD_RECORD', { index, column, reason }, { message })
}

/** Makes the error for a key that exists, with the values of the key; of bytes only their number. */
export function recordExists(
  table: LoaderTable,
  values: readonly Stored[],
  index: number,
  env: ValueEnv,
): AppError {
  const { uniqueColumns, columns } = table
  const key = uniqueColumns.map((name) => {
    const slot = columns.findIndex((column) => column.name === name)
    const value = values[slot] as Exclude<Stored, null> // nulls differ from each other, so no key with one exists
    if (value instanceof Uint8Array) return `${name} (${value.length} bytes)`
    return `${name} ${describeFound(typeOf((columns[slot] as Column).udtName).print(value, env))}`
  })
  const message = `a record with ${key.join(', ')} already exists`
  return new AppError('RECORD_EXISTS', { index, unique_columns: uniqueColumns }, { message })
}

/** Makes the error for a path at which no file is stored. @param slot of the file column */
export function missingFile(table: LoaderTable, slot: number, index: number): AppError {
  const column = table.columns[slot]?.file?.relativePathProperty ?? null // no test: a part has a file column
  const reason = 'found a path at which no file is stored, expected the path of a stored file, or bytes'
  return badRecord(index, { column, reason })
}

/** Makes the error for a file at the place of another one. @param column that holds the path id */
export function takenPlace(place: { pathId: string; name: string }, column: string, index: number): AppError {
  const found = `${column} ${describeFound(place.pathId)} with the file name ${describeFound(place.name)}`
  const reason = `found ${found}, the place of another file of this table, expected a place of its own`
  return badRecord(index, { column, reason })
}

/** Makes the error for a table that went, or went and came again, since the caller found it. */
export function droppedMeanwhile(dataName: string, cause?: unknown): AppError {
  const message = `The table ${dataName} was dropped while the call was running`
  return new AppError('UNKNOWN_TABLE', { data_name: dataName }, { message, cause })
}
