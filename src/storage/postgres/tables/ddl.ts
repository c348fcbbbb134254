import { INFINITY_US } from '../../../datetime.js'
import type { ColumnType } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import { END, LOCATION, START } from '../../records/record-plan.js'
import type { Column, LoaderTable } from '../../tables.js'

/*
 * The rows of each loader table are in a table of their own, named by its id. Names of callers are as long as 63
 * letters, which PostgreSQL's names cannot hold, so columns are named by their position, and comments have the names.
 */

/** Returns the name of the table with the rows of a loader table. */
export function rowsName({ tableId }: Pick<LoaderTable, 'tableId'>): string {
  return `rows_${tableId}`
}

/** Returns the name of the column at a position. */
export function columnName(slot: number): string {
  return `c${slot}`
}

/**
 * PostgreSQL's type of a column: one that keeps every stored value as it is.
 *
 * - instants and local times are µs since 1970: a timestamp of PostgreSQL has no year 9999 in every time zone, and
 *   prints in that of its session
 * - dates and times of day are text that sorts: a time zone of PostgreSQL is at most 16 hours wide
 * - single floats are doubles, because bounds of conditions may lie beyond their range
 */
export type SqlType = 'bigint' | 'integer' | 'smallint' | 'boolean' | 'double precision' | 'text' | 'bytea'

/** Returns PostgreSQL's type of a column. */
export function sqlTypeOf({ udtName, isEncrypted }: Pick<Column, 'udtName' | 'isEncrypted'>): SqlType {
  if (isEncrypted) return 'bytea'
  const { kind } = typeOf(udtName)
  if (kind === 'text') return 'text'
  if (kind === 'bytes') return 'bytea'
  if (kind === 'float') return 'double precision'
  if (udtName === 'bool') return 'boolean'
  return udtName === 'int2' ? 'smallint' : udtName === 'int4' ? 'integer' : 'bigint'
}

/** Returns SQL whose values are equal where values of a key column are: `bpchar` ignores spaces at its end. */
export function keySql({ udtName, isEncrypted }: Column, sql: string): string {
  return typeOf(udtName).order === 'trimmed' && !isEncrypted ? `rtrim(${sql}, ' ')` : sql
}

/** Time by which the age of a row counts, µs UTC; null for a row without a time. */
export const AGE_SQL = `coalesce(${columnName(END)}, ${columnName(START)})`

/** Number of a row's last change, over the alias `t`. */
export const CHANGE_SQL = 'coalesce(t.change, t.row_id)'

/**
 * Span of a row, the instant of its end included, as the index of spans has it. The infinite end is open, because a
 * range has one number more than its end.
 *
 * @param at prefix of the columns, such as `t.`
 */
export function periodSql(at: string): string {
  const [start, end] = [at + columnName(START), at + columnName(END)]
  return `int8range(${start}, CASE WHEN greatest(${start}, ${end}) = ${INFINITY_US} THEN NULL
    WHEN ${end} < ${start} THEN ${start} ELSE ${end} END, '[]')`
}

/**
 * Returns the statements that create the table of the rows: the unique key (each origin has its own), the index of
 * change numbers that are not row ids, those of boxes and spans, and one for each file column.
 */
export function createRowsSql(table: LoaderTable): string[] {
  const name = rowsName(table)
  const slots = [...table.columns.keys()]
  const key = table.uniqueColumns.map((column) => {
    const slot = table.columns.findIndex((other) => other.name === column)
    return `(${keySql(table.columns[slot] as Column, columnName(slot))})`
  })
  return [
    `CREATE TABLE ${name} (
      row_id bigint PRIMARY KEY,                -- order of arrival
      origin integer NOT NULL,                  -- node at which the row was first put, see row_origin
      change bigint,                            -- number of the last change; null where it is the row id
      day integer NOT NULL,                     -- UTC day of the last write at the origin, days since 1970
      version bigint,                           -- of a row of another node: grows with each write at its origin
      sender integer,                           -- node that sent it, see row_origin; null for own rows
      place box,                                -- box of the location
      ${slots.map((slot) => columnSql(table.columns[slot] as Column, slot)).join(',\n      ')}
    )`,
    `CREATE UNIQUE INDEX ${name}_key ON ${name} (${[...key, 'origin'].join(', ')})`,
    `CREATE INDEX ${name}_change ON ${name} (change) WHERE change IS NOT NULL`,
    `CREATE INDEX ${name}_place ON ${name} USING gist (place) WHERE place IS NOT NULL`,
    // beside the box of an area where rows without a location match, too
    `CREATE INDEX ${name}_nowhere ON ${name} (row_id) WHERE ${columnName(LOCATION)} IS NULL`,
    `CREATE INDEX ${name}_period ON ${name} USING gist ((${periodSql('')}))`,
    ...fileIndexSql(table),
    `COMMENT ON TABLE ${name} IS ${literal(`${table.schema}.${table.tableName}`)}`,
    ...slots.map((slot) => commentSql(table, slot)),
  ]
}

/** Returns the statements that add the columns from a position on. */
export function addColumnsSql(table: LoaderTable, from: number): string[] {
  return [...table.columns.keys()]
    .slice(from)
    .flatMap((slot) => [
      `ALTER TABLE ${rowsName(table)} ADD COLUMN ${columnSql(table.columns[slot] as Column, slot)}`,
      commentSql(table, slot),
    ])
}

function columnSql(column: Column, slot: number): string {
  const type = sqlTypeOf(column)
  // text is compared by its bytes, as SQLite does
  const collate = type === 'text' ? ' COLLATE "C"' : ''
  return `${columnName(slot)} ${type}${collate}${column.isNullable ? '' : ' NOT NULL'}`
}

/** Describes a column for readers with other programs. */
function commentSql(table: LoaderTable, slot: number): string {
  const column = table.columns[slot] as Column
  const type: ColumnType = typeOf(column.udtName)
  const length = column.length === null ? '' : `(${column.length})`
  const form = column.isEncrypted ? 'encrypted with AES-256-GCM' : type.form
  const text = `${column.name}: ${column.udtName}${length}: ${form}`
  return `COMMENT ON COLUMN ${rowsName(table)}.${columnName(slot)} IS ${literal(text)}`
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Indexes files by path id and name, for `get_file`. */
function fileIndexSql(table: LoaderTable): string[] {
  const slotOf = (name: string) => table.columns.findIndex((column) => column.name === name)
  return table.columns.flatMap(({ file }, slot) => {
    if (file === null) return []
    const on = [file.pathIdColumn, file.nameColumn].map((name) => {
      const at = slotOf(name)
      return `(${keySql(table.columns[at] as Column, columnName(at))})`
    })
    return [`CREATE INDEX ${rowsName(table)}_file_${slot} ON ${rowsName(table)} (${on.join(', ')})`]
  })
}

/** Location of a row, over the alias `t`. */
export const LOCATION_SQL = `t.${columnName(LOCATION)}`
