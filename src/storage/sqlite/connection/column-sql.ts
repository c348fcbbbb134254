import type { ColumnType, ValueOrder } from '../../columns/column-type.js'
import { identifier } from './database.js'

/** SQLite's column type by kind of stored value; a float column is ANY because NaN is text. */
const SQL_TYPES = { integer: 'INTEGER', float: 'ANY', text: 'TEXT', bytes: 'BLOB' } as const

/** Returns SQLite's type of a column. */
export function sqlTypeOf({ kind }: Pick<ColumnType, 'kind'>): string {
  return SQL_TYPES[kind]
}

/**
 * Returns the ` COLLATE` clause of a column, empty for the default collation. RTRIM ignores spaces at the
 * end.
 */
export function collateSql({ order }: Pick<ColumnType, 'order'>): string {
  return order === 'trimmed' ? ' COLLATE RTRIM' : ''
}

/**
 * Returns a column as `ALTER TABLE … ADD COLUMN` takes it. It has no ` CHECK` clause: SQLite would test every row of the table,
 * and values are checked before they are stored.
 */
export function addedColumnSql({
  name,
  type,
  isEncrypted,
}: {
  readonly name: string
  readonly type: Pick<ColumnType, 'kind' | 'order'>
  readonly isEncrypted: boolean
}): string {
  return `${identifier(name)} ${isEncrypted ? 'BLOB' : sqlTypeOf(type) + collateSql(type)}`
}

/**
 * Returns the ` CHECK` clause of a column, empty when every value of its SQLite type is valid.
 *
 * @param sqlName quoted name of the column
 */
export function checkSql({ kind, domain }: Pick<ColumnType, 'kind' | 'domain'>, sqlName: string): string {
  if (kind === 'float')
    return ` CHECK (typeof(${sqlName}) IN ('real', 'integer', 'null') OR ${sqlName} = 'NaN')`
  if (domain === undefined) return ''
  if (domain === 'boolean') return ` CHECK (${sqlName} IN (0, 1))`
  if (domain === 'json') return ` CHECK (json_valid(${sqlName}))`
  return ` CHECK (${sqlName} BETWEEN ${domain.min} AND ${domain.max})`
}

/**
 * Returns SQL whose values compare in SQLite as the values of a type do. The functions are registered by
 * `addSqlFunctions`; an index of the column cannot serve them.
 *
 * @param sql column with its collation, or a bound parameter
 */
export function sortKeySql(order: ValueOrder, sql: string): string {
  if (order === 'decimal') return `decimal_sort_key(${sql})`
  return order === 'timetz' ? `timetz_sort_key(${sql})` : sql
}

/**
 * Returns SQL whose values compare in JavaScript, by `compareStored`, as the values of a type do; NULL
 * without order.
 */
export function sortValueSql(order: ValueOrder | null, sql: string): string {
  if (order === null) return 'NULL' // no test: parseOrder refuses columns without order
  return order === 'trimmed' ? `rtrim(${sql}, ' ')` : sortKeySql(order, sql)
}
