import { AppError } from '../../../errors.js'
import { bboxOf } from '../../../geo/bbox.js'
import type { Bbox } from '../../../geo/types.js'
import { describeFound } from '../../../messages/fault-text.js'
import { decodeStored } from '../../columns/byte-types.js'
import { isFault, type Stored, type ValueEnv } from '../../columns/column-type.js'
import { plainDecimal } from '../../columns/decimal-type.js'
import type { StateColumn } from '../../columns/state-column.js'
import { sizeFault } from '../../columns/value-size.js'
import type { VersionedTable } from '../versions/versioned-table.js'

/**
 * Checks a record and converts it to stored values.
 *
 * @param record values in the order of the columns
 * @param index position of the record in the call, for errors
 * @param maxBytes most bytes of all values
 * @returns one stored value per column
 * @throws AppError BAD_RECORD, `data` = `{ index, column, reason }`
 */
export function readDatasetRecord(
  table: VersionedTable,
  record: readonly unknown[],
  index: number,
  env: ValueEnv,
  maxBytes = Number.POSITIVE_INFINITY,
): Stored[] {
  const { columns, keyColumns } = table
  if (record.length !== columns.length) {
    const names = columns.map(({ name }) => name).join(', ')
    const expected = `${columns.length} in the order of the columns (${names})`
    throw badRecord(index, null, `found ${record.length} values, expected ${expected}`)
  }
  const values: Stored[] = new Array(columns.length)
  for (const [slot, column] of columns.entries()) {
    const json = record[slot]
    if (json === null || json === undefined) {
      if (!column.isNullable) throw badRecord(index, column.name, 'found null, expected a value')
      values[slot] = null
      continue
    }
    const value = column.type.read(json, column.rules, env)
    if (isFault(value))
      throw badRecord(index, column.name, `found ${value.found}, expected ${value.expected}`)
    const isDecimalKey = column.udtName === 'numeric' && keyColumns.includes(column.name)
    values[slot] = isDecimalKey ? plainDecimal(value as string) : value
  }
  const oversize = sizeFault(values, (slot) => (columns[slot] as StateColumn).name, maxBytes)
  if (oversize !== undefined) throw badRecord(index, oversize.column, oversize.reason)
  return values
}

/** Returns the error for a record that does not fit its dataset. */
function badRecord(index: number, column: string | null, reason: string): AppError {
  const message = column === null ? reason : `${column}: ${reason}`
  return new AppError('BAD_RECORD', { index, column, reason }, { message })
}

/** Returns the error for a record whose key exists, in the table or earlier in the call. */
export function keyExists(table: VersionedTable, values: readonly Stored[], index: number): AppError {
  const key = table.keyColumns.map((name) => {
    const value = values[table.columns.findIndex((column) => column.name === name)]
    const shown = typeof value === 'bigint' ? String(value) : describeFound(value)
    return `${name} ${value instanceof Uint8Array ? `of ${value.length} bytes` : shown}`
  })
  const message = `a record with ${key.join(', ')} already exists`
  return new AppError('RECORD_EXISTS', { index, key_columns: table.keyColumns }, { message })
}

/** Returns the box of a stored geometry; undefined when it is null or empty. */
export function storedBox(wkb: Stored): Bbox | undefined {
  return wkb instanceof Uint8Array ? bboxOf(decodeStored(wkb)) : undefined
}
