import type { ColumnType } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import type { Column, LoaderTable } from '../../tables.js'
import { checkSql, collateSql, sqlTypeOf } from '../connection/column-sql.js'
import { identifier } from '../connection/database.js'

/** Quoted name of the key of every table. A defined column cannot have it: names have no spaces. */
export const ROW_ID = identifier('row id')

/** Quoted name of the column with the node at which a row was first put: an id of `row_origin`. */
export const ROW_ORIGIN = identifier('row origin')

/**
 * Quoted name of the column with the number of a row's last change in its table; null where that is its row
 * id, as it is in a table whose rows were never overwritten. See `change-numbers.ts`.
 */
export const ROW_CHANGE = identifier('row change')

/**
 * Quoted name of the column with the UTC day of a row's last write at its origin: days since 1970, 0 where it is
 * not known. It travels with the row, so that all nodes count the row under one day.
 */
export const ROW_DAY = identifier('row day')

/**
 * Quoted name of the column with the version of a row of another node, which grows with each write at its origin:
 * null where it is not known, and for rows of this gateway, whose version follows from their change number. See
 * `row-versions.ts`.
 */
export const ROW_VERSION = identifier('row version')

/** Quoted name of the column with the node that sent this version of a row: an id of `row_origin`; null for own rows. */
export const ROW_SENDER = identifier('row sender')

/** Returns the quoted name of a table. */
export function tableSql(table: Pick<LoaderTable, 'tableName'>): string {
  return identifier(table.tableName)
}

/** Returns the quoted name of a table's spatial index. */
export function indexSql(table: Pick<LoaderTable, 'tableName'>): string {
  return identifier(`${table.tableName}_rtree`)
}

/**
 * Returns the statements that create a table: the table, its unique key (each origin has its own), the index
 * of change numbers that are not row ids, an index for each file column, and the R*Tree over runs of its rows (see `segment-index.ts`). Comments, which SQLite keeps, describe how each
 * column is stored.
 */
export function createTableSql(table: LoaderTable): string[] {
  const lines = table.columns.map((column) => `  ${columnSql(column)}`)
  const name = tableSql(table)
  return [
    `CREATE TABLE ${name} (\n${lines.join('\n')}
  ${ROW_ID} INTEGER PRIMARY KEY, -- order of arrival
  ${ROW_ORIGIN} INTEGER NOT NULL DEFAULT 0, -- node at which the row was first put, see row_origin
  ${ROW_CHANGE} INTEGER, -- number of the last change; null where it is the row id
  ${ROW_DAY} INTEGER NOT NULL DEFAULT 0, -- UTC day of the last write at the origin, days since 1970
  ${ROW_VERSION} INTEGER, -- of a row of another node: grows with each write at its origin
  ${ROW_SENDER} INTEGER -- node that sent it, see row_origin\n) STRICT`,
    `CREATE UNIQUE INDEX ${identifier(`${table.tableName}_key`)} ON ${name} (${[...table.uniqueColumns.map(identifier), ROW_ORIGIN].join(', ')})`,
    `CREATE INDEX ${identifier(`${table.tableName}_change`)} ON ${name} (${ROW_CHANGE}) WHERE ${ROW_CHANGE} IS NOT NULL`,
    ...fileIndexSql(table),
    `CREATE VIRTUAL TABLE ${indexSql(table)} USING rtree(
  run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day, +row_count INTEGER, +entries BLOB
)`,
  ]
}

/** Returns the statements that remove a table and its spatial index. */
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

/** Describes the stored form for readers with the `sqlite3` shell. */
function noteOf(column: Column, type: ColumnType): string {
  const length = column.length === null ? '' : `(${column.length})`
  const form = column.isEncrypted ? 'encrypted with AES-256-GCM' : type.form
  return `${column.udtName}${length}: ${form}`
}

/** Indexes files by path id and name, for `get_file`. */
function fileIndexSql(table: LoaderTable): string[] {
  return table.columns.flatMap(({ name, file }) => {
    if (file === null) return []
    const on = `${identifier(file.pathIdColumn)}, ${identifier(file.nameColumn)}`
    return [`CREATE INDEX ${identifier(`${table.tableName}_file ${name}`)} ON ${tableSql(table)} (${on})`]
  })
}
