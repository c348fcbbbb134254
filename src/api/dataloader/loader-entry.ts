import { isFault } from '../../storage/columns/column-type.js'
import { typeOf } from '../../storage/columns/column-types.js'
import type { Column, LoaderTable } from '../../storage/tables.js'

/** A table as `get_loader_list` tells it: `record_def` in the words of the information schema. */
export function toLoaderEntry(table: LoaderTable) {
  const columns = table.columns.map((column, index): [string, ReturnType<typeof toColumnEntry>] => [
    column.name,
    toColumnEntry(column, index + 1),
  ])
  return {
    data_name: table.dataName,
    table_name: `${table.schema}.${table.tableName}`,
    unique_columns: [...table.uniqueColumns],
    record_def: Object.fromEntries(columns), // `__proto__` becomes an ordinary key by it
  }
}

function toColumnEntry(column: Column, position: number) {
  return {
    column_default: defaultText(column),
    data_type: typeOf(column.udtName).dataType,
    is_nullable: column.isNullable ? ('YES' as const) : ('NO' as const),
    position,
    udt_name: column.udtName as string,
  }
}

function defaultText(column: Column): string | null {
  if (column.columnDefault === null) return null
  const type = typeOf(column.udtName)
  const value = type.read(column.columnDefault, column, { timeZoneMin: 0, nowUs: 0n })
  if (isFault(value) || value === null) throw new Error(`the default of ${column.name} does not fit its type`)
  return type.renderDefault(column.columnDefault, value)
}
