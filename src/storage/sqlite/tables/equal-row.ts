import type { Stored } from '../../columns/column-type.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { ROW_ORIGIN, tableSql } from './ddl.js'

/**
 * Creates a test of whether the row with the key of some values has just these values: rows that arrive from
 * another node once more are left as they are, or each would be passed on again. Cost: a search of the key.
 *
 * @param originId origin of the rows, an id of `row_origin`
 */
export function createEqualTest(
  db: Db,
  table: LoaderTable,
  originId: number,
): (values: readonly Stored[]) => boolean {
  const slots = table.uniqueColumns.map((name) => table.columns.findIndex((column) => column.name === name))
  const isKey = table.uniqueColumns.map((name) => `${identifier(name)} = ?`).join(' AND ')
  const names = table.columns.map(({ name }) => identifier(name)).join(', ')
  const find = statement<Stored[]>(
    db,
    `SELECT ${names} FROM ${tableSql(table)} WHERE ${isKey} AND ${ROW_ORIGIN} = ?`,
  )
    .raw()
    .safeIntegers()
  return (values) => {
    const stored = find.get(
      slots.map((slot) => values[slot]),
      originId,
    )
    return stored?.every((value, slot) => isEqual(value, values[slot] as Stored)) === true
  }
}

function isEqual(a: Stored, b: Stored): boolean {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (typeof a === 'bigint' && typeof b === 'number') return a === BigInt(b)
  return a === b
}
