import type { StateColumn } from '../../columns/state-column.js'
import { collateSql, sortValueSql } from '../connection/column-sql.js'
import { identifier } from '../connection/database.js'
import { ROW_ID } from '../tables/ddl.js'
import { FROM_TX, TO_TX, VERSION_ID, versionNames } from '../tables/version-names.js'
import { fromTxSql } from './history.js'
import type { TableState } from './versioned-table.js'

/**
 * Returns the statement that reads rows by their ids, in the order of the ids; ids that the state lacks are
 * left out. Bound: `@ids` (a JSON array), `@tx`, then the parameters of `where`.
 *
 * @param select SQL list over the aliases `c` (current rows) and `h` (history), exactly one of which has the
 *   row
 */
export function stateSql(state: TableState, where: string, select: string): string {
  const { current, history } = versionNames(state.table)
  const ids = 'FROM json_each(@ids) AS i'
  if (state.tx === 'current')
    return `SELECT ${select} ${ids} CROSS JOIN ${current} AS c ON c.${ROW_ID} = i.value WHERE ${where}`
  return `SELECT ${select} ${ids}
    LEFT JOIN ${current} AS c ON c.${ROW_ID} = i.value AND ${fromTxSql(state.table)} <= @tx
    LEFT JOIN ${history} AS h ON c.${ROW_ID} IS NULL AND h.${VERSION_ID} = (
      SELECT x.${VERSION_ID} FROM ${history} AS x WHERE x.${ROW_ID} = i.value AND x.${TO_TX} > @tx
      ORDER BY x.${TO_TX} LIMIT 1) AND h.${FROM_TX} <= @tx
    WHERE (c.${ROW_ID} IS NOT NULL OR h.${ROW_ID} IS NOT NULL) AND ${where}`
}

/**
 * Returns the statement that lists the next row ids, ascending: those of current and of deleted rows, whether
 * or not the state has them. Bound: `@after`, `@until`, `@count`.
 */
export function nextIdsSql(state: TableState): string {
  return idsSql(state, 'id')
}

/** Returns the statement that lists the row ids before, descending. Bound: `@after`, `@until`, `@count`. */
export function previousIdsSql(state: TableState): string {
  return idsSql(state, 'id DESC')
}

function idsSql(state: TableState, order: string): string {
  const { current, gone } = versionNames(state.table)
  const ids = (name: string) =>
    `SELECT ${ROW_ID} AS id FROM ${name} WHERE ${ROW_ID} > @after AND ${ROW_ID} <= @until`
  const all = state.tx === 'current' ? ids(current) : `${ids(current)} UNION ${ids(gone)}`
  return `${all} ORDER BY ${order} LIMIT @count`
}

/**
 * Returns the statement that finds row ids by comparisons of key columns; a row has the same key in all its
 * versions. Bound: `keyParams`, `@count`.
 */
export function keyIdsSql({ table, tx }: TableState, keyTerms: readonly { sql: string }[]): string {
  const { current, gone } = versionNames(table)
  const where = keyTerms.map(({ sql }) => sql).join(' AND ')
  const past = tx === 'current' ? '' : ` UNION ALL SELECT ${ROW_ID} FROM ${gone} WHERE ${where}`
  return `SELECT ${ROW_ID} FROM ${current} WHERE ${where}${past} LIMIT @count`
}

/** Values of `keyIdsSql`: those of the terms, and once more where former rows are searched, too. */
export function keyParams(
  { tx }: TableState,
  keyTerms: readonly { params: readonly unknown[] }[],
): unknown[] {
  const params = keyTerms.flatMap((term) => term.params)
  return tx === 'current' ? params : [...params, ...params]
}

/**
 * Returns the statement that finds row ids of a dataset by a box. Bound: `@west`, `@east`, `@south`,
 * `@north`, `@count`.
 *
 * @param slot position of the geometry column
 */
export function boxIdsSql({ table, tx }: TableState, slot: number): string {
  const names = versionNames(table)
  const where = 'WHERE max_x >= @west AND min_x <= @east AND max_y >= @south AND min_y <= @north'
  const now = `SELECT row_id FROM ${names.rtree(slot)} ${where}`
  const past = tx === 'current' ? '' : ` UNION ALL SELECT row_id FROM ${names.past(slot)} ${where}`
  return `${now}${past} LIMIT @count`
}

/** Returns SQL for a column of the version that the state sees; every column of the other alias is null. */
export function mergedSql({ tx }: TableState, { name, type }: StateColumn): string {
  const sqlName = identifier(name)
  const merged = tx === 'current' ? `c.${sqlName}` : `coalesce(c.${sqlName}, h.${sqlName})`
  const collation = collateSql(type)
  return collation === '' ? merged : `(${merged})${collation}`
}

/**
 * Returns SQL for the time when the row's version began, µs; null for rows older than their table's first
 * citation.
 */
export function beganAtSql({ table, tx }: TableState): string {
  const began = fromTxSql(table)
  const fromTx =
    tx === 'current' ? began : `CASE WHEN c.${ROW_ID} IS NULL THEN h.${FROM_TX} ELSE ${began} END`
  return `(SELECT t.at_us FROM row_transaction AS t WHERE t.tx = ${fromTx})`
}

/** Returns SQL for the row id. */
export function rowIdSql({ tx }: TableState): string {
  return tx === 'current' ? `c.${ROW_ID}` : `coalesce(c.${ROW_ID}, h.${ROW_ID})`
}

/** Returns SQL for values of a column that compare in JavaScript as SQLite compares the column. */
export function sortSql(state: TableState, column: StateColumn): string {
  return sortValueSql(column.type.order, mergedSql(state, column))
}
