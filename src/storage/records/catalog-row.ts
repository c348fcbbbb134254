import { AppError, invalidParams } from '../../errors.js'
import type { CatalogRow } from '../catalog-row.js'
import { type Column, type LoaderTable, RESERVED_COLUMNS } from '../tables.js'

/** Returns `<data_name>_tbl_0`. */
export function tableNameOf(dataName: string): string {
  return `${dataName}_tbl_0`
}

/** Adds the reserved columns, which are the same in every table and not stored. */
export function toTable(row: CatalogRow): LoaderTable {
  const columns = [...RESERVED_COLUMNS, ...(JSON.parse(row.columns) as Column[])]
  return {
    tableId: row.table_id,
    dataName: row.data_name,
    tableName: row.table_name,
    schema: row.schema,
    columns,
    columnByName: new Map(columns.map((column) => [column.name, column])),
    uniqueColumns: JSON.parse(row.unique_columns) as string[],
  }
}

/** Makes the error for a name that is taken, also by one that differs in the case of ASCII letters only. */
export function alreadyRegistered(dataName: string, other: string): AppError {
  const message =
    other === dataName
      ? `A table with the name ${dataName} is registered`
      : `Found the name ${dataName}, which differs from the registered table ${other} in the case of letters only`
  return new AppError('ALREADY_REGISTERED', { data_name: dataName, registered: other }, { message })
}

/** Refuses names that are taken, ignoring the case of ASCII letters. @throws AppError INVALID_PARAMS */
export function requireNew(known: readonly { name: string }[], added: readonly { name: string }[]): void {
  const lower = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const taken = new Map(known.map(({ name }) => [lower(name), name]))
  const found = added.find(({ name }) => taken.has(lower(name)))
  if (found === undefined) return
  const message = `found the name ${found.name}, expected one that differs from the column ${taken.get(lower(found.name))}`
  throw invalidParams([{ path: '$.add_columns', message }])
}
