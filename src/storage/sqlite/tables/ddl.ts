import type { ColumnType } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import type { Column, LoaderTable } from '../../tables.js'
import { checkSql, collateSql, sqlTypeOf } from '../connection/column-sql.js'
import { identifier } from '../connection/database.js'

/** Key of every table. The space keeps it apart from the columns that callers name. */
export const ROW_ID = identifier('row id')

/** Names of what belongs to a table, quoted. */
export function tableSql(table: Pick<LoaderTable, 'tableName'>): string {
  return identifier(table.tableName)
}

export function indexSql(table: Pick<LoaderTable, 'tableName'>): string {
  return identifier(`${table.tableName}_rtree`)
}

/**
 * The statements that make a table: the table itself, its unique key, an index for each file column, and the R*Tree over
 * runs of its rows (see table-index.ts). How each column is stored is said in comments, which SQLite keeps.
 */
export function createTableSql(table: LoaderTable): string[] {
  const lines = table.columns.map((column) => `  ${columnSql(column)}`)
  const name = tableSql(table)
  return [
    `CREATE TABLE ${name} (\n${lines.join('\n')}\n  ${ROW_ID} INTEGER PRIMARY KEY -- order of arrival\n) STRICT`,
    `CREATE UNIQUE INDEX ${identifier(`${table.tableName}_key`)} ON ${name} (${table.uniqueColumns.map(identifier).join(', ')})`,
    ...fileIndexSql(table),
    `CREATE VIRTUAL TABLE ${indexSql(table)} USING rtree(
  run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day, +row_count INTEGER, +entries BLOB
)`,
  ]
}

export function dropTableSql(table: LoaderTable): string[] {
  return [`DROP TABLE ${indexSql(table)}`, `DROP TABLE ${tableSql(table)}`]
}

function columnSql(column: Column): string {
  const type = typeOf(column.udtName)
  const sqlName = identifier(column.name)
  const sqlType = column.isEncrypted ? 'BLOB' : sqlTypeOf(type) + collateSql(type)
  const notNull = column.isNullable ? '' : ' NOT NULL'
  return `${sqlName} ${sqlType}${notNull}${checkSql(type, sqlName)}, -- ${noteOf(column, type)}`
}

/** What someone with a shell needs to know to read the column. */
function noteOf(column: Column, type: ColumnType): string {
  const length = column.length === null ? '' : `(${column.length})`
  const form = column.isEncrypted ? 'encrypted with AES-256-GCM' : type.form
  return `${column.udtName}${length}: ${form}`
}

/** Where `get_file` looks: by the path id, then the name. */
function fileIndexSql(table: LoaderTable): string[] {
  return table.columns.flatMap(({ name, file }) => {
    if (file === null) return []
    const on = `${identifier(file.pathIdColumn)}, ${identifier(file.nameColumn)}`
    return [`CREATE INDEX ${identifier(`${table.tableName}_file ${name}`)} ON ${tableSql(table)} (${on})`]
  })
}
