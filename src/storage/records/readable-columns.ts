import { invalidParams } from '../../errors.js'
import { candidates } from '../../messages/candidates.js'
import { typeOf } from '../columns/column-types.js'
import type { ConditionColumn } from '../columns/condition.js'
import { type Column, type LoaderTable, ORIGIN_COLUMN } from '../tables.js'

/**
 * Returns the columns that a query of a table may name: its own, and `_origin` unless the table, registered
 * by an earlier version, has a column of that name.
 */
export function readableColumns(table: LoaderTable): ReadonlyMap<string, Column> {
  if (table.columnByName.has(ORIGIN_COLUMN.name)) return table.columnByName
  return new Map([...table.columnByName, [ORIGIN_COLUMN.name, ORIGIN_COLUMN]])
}

/** Returns the columns of a table as conditions see them. */
export function conditionColumns(table: LoaderTable): Map<string, ConditionColumn> {
  return new Map(
    [...readableColumns(table).values()].map(({ name, udtName, isEncrypted, srid }) => [
      name,
      { type: typeOf(udtName), isEncrypted, srid },
    ]),
  )
}

/**
 * Returns the wanted columns, each once; all for no names. `location` is left out: it is always read.
 *
 * @param path of the names in the caller's params
 * @throws AppError INVALID_PARAMS for an unknown column
 */
export function wantedColumns(table: LoaderTable, names: readonly string[], path: string): Column[] {
  if (names.length === 0) return table.columns.filter(({ name }) => name !== 'location')
  const columns: Column[] = []
  const readable = readableColumns(table)
  for (const [index, name] of names.entries()) {
    const column = readable.get(name)
    if (column === undefined) {
      const known = candidates(readable.keys(), name)
      const message = `found ${JSON.stringify(name.slice(0, 100))}, expected one of ${known}`
      throw invalidParams([{ path: `${path}[${index}]`, message }])
    }
    if (name !== 'location' && !columns.includes(column)) columns.push(column)
  }
  return columns
}
