import type { Stored } from '../../columns/column-type.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { ROW_DAY, ROW_ORIGIN, tableSql } from './ddl.js'

/**
 * Creates a test of whether the row with the key of some values has just these values: rows that arrive from
 * another node once more are left as they are, or each would be passed on again. Cost: a search of the key.
 *
 * @param originId origin of the rows, an id of `row_origin`
 * @returns a test of values, and of the day of the last write where it is given
 */
export function createEqualTest(
  db: Db,
  table: LoaderTable,
  originId: number,
): (values: readonly Stored[], day?: number) => boolean {
  const slots = table.uniqueColumns.map((name) => table.columns.findIndex((column) => column.name === name))
  const isKey = table.uniqueColumns.map((name) => `${identifier(name)} = ?`).join(' AND ')
  const names = table.columns.map(({ name }) => identifier(name)).join(', ')
  const find = statement<Stored[]>(
    db,
    `SELECT ${ROW_DAY}, ${names} FROM ${tableSql(table)} WHERE ${isKey} AND ${ROW_ORIGIN} = ?`,
  )
    .raw()
    .safeIntegers()
  return (values, day) => {
    const [storedDay, ...stored] =
      find.get(
        slots.map((slot) => values[slot]),
        originId,
      ) ?? []
    if (storedDay === undefined || (day !== undefined && Number(storedDay) !== day)) return false
    return stored.every((value, slot) => isEqual(value, values[slot] as Stored))
  }
}

function isEqual(a: Stored, b: Stored): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (typeof a === 'bigint' && typeof b === 'number') return a === BigInt(b)
  return a === b
}
