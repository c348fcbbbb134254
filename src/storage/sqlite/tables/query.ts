import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Bbox } from '../../../geo/types.js'
import type { ValueEnv } from '../../columns/column-type.js'
import {
  type Condition,
  type Operand,
  parseCondition,
  requiredArea,
  requiredValue,
} from '../../columns/condition.js'
import { checkCost, type RowFacts } from '../../columns/condition-cost.js'
import { type OrderTerm, parseOrder } from '../../columns/order.js'
import { conditionColumns, wantedColumns } from '../../records/readable-columns.js'
import type { Column, LoaderTable, QueryPaths, TableQuery } from '../../tables.js'
import { compileCondition } from '../connection/condition-sql.js'
import { type Db, identifier, oneValue, statement } from '../connection/database.js'
import { meanBytes } from '../connection/mean-bytes.js'
import { dropArea, keepArea } from '../connection/sql-functions.js'
import { valueLimitOf } from '../connection/value-limit.js'
import { indexSql, ROW_ID, tableSql } from './ddl.js'
import { readableSql } from './origins.js'

/** A checked and compiled query. */
export interface QueryPlan {
  readonly table: LoaderTable
  readonly query: TableQuery
  readonly order: readonly OrderTerm[]
  /** columns of the result in its order, without `location` */
  readonly columns: readonly Column[]
  /** SQL over the table's alias `t`; `1` when every row matches */
  readonly where: string
  readonly params: readonly Operand[]
  /** box that every matching row's location touches; `empty` when no row can match; undefined for no box */
  readonly box: Bbox | 'empty' | undefined
  /** values that every matching row has in the first columns of the unique key */
  readonly key: readonly { column: string; value: Operand }[]
  /** frees the areas of the condition; must be called when the query has ended */
  release(): void
}

/**
 * Checks and compiles a query.
 *
 * @param db connection that will run it: it holds the areas of the condition
 * @param paths of the parts of the query in the caller's params, for error messages
 * @throws AppError BAD_CONDITION, TOO_EXPENSIVE, INVALID_PARAMS for an unknown column
 */
export function planQuery(
  db: Db,
  table: LoaderTable,
  query: TableQuery,
  env: ValueEnv,
  paths: QueryPaths,
): QueryPlan {
  const scope = conditionColumns(table)
  const order = parseOrder(query.order, scope, paths.order)
  const columns = wantedColumns(table, query.columns ?? [], paths.columns)
  const condition = parseCondition(query.conds, { columns: scope, env }, paths.conds)
  const box = boxOf(query.area, condition)
  const key = keyOf(table, condition)
  checkCost(condition, paths.conds, () => rowFacts(db, { table, query, box, key }))
  const handles: number[] = []
  const { sql, params } = compileCondition(condition, {
    sqlOf: (name) => readableSql(table, name),
    keepArea(area) {
      const handle = keepArea(db, area)
      handles.push(handle)
      return handle
    },
    maxValueBytes: valueLimitOf(db),
  })
  const span = query.span === undefined ? [] : [query.span.untilUs, query.span.fromUs, query.span.fromUs]
  return {
    table,
    query,
    order,
    columns,
    where: [
      ...(query.span === undefined ? [] : [SPAN_SQL]),
      ...(sql === '1' ? ['1'] : [aliveSql(), sql]),
    ].join(' AND '),
    params: [...span, ...params],
    box,
    key,
    release() {
      for (const handle of handles.splice(0)) dropArea(db, handle)
    },
  }
}

type Narrowing = Pick<QueryPlan, 'table' | 'query' | 'box' | 'key'>

/** Counts the rows that an index leaves for a condition, as `matchesById` uses the indexes. */
function rowFacts(db: Db, plan: Narrowing): RowFacts {
  const name = tableSql(plan.table)
  const all = oneValue<number>(
    db,
    `SELECT coalesce(max(${ROW_ID}) - (SELECT min(${ROW_ID}) FROM ${name}) + 1, 0) FROM ${name}`,
  )
  return {
    rows: Math.min(all, rowsOfIndex(db, plan)),
    meanBytes: (column) => meanBytes(db, `${name} AS t`, readableSql(plan.table, column)),
  }
}

function rowsOfIndex(db: Db, { table, query, box, key }: Narrowing): number {
  if (box === 'empty') return 0
  if (box !== undefined) return query.isNowhereIn === true ? Infinity : rowsInBox(db, table, box)
  return key.length === 0 || query.span !== undefined ? Infinity : rowsOfKey(db, { table, key })
}

/** Rows of a key that are counted at most: with so many it narrows nothing. */
const MAX_COUNTED = 100_000

function rowsOfKey(db: Db, plan: Pick<QueryPlan, 'table' | 'key'>): number {
  const count = statement<number>(db, `SELECT count(*) FROM (${byKeySql(plan)})`).pluck()
  const found = Number(count.get(...plan.key.map(({ value }) => value), MAX_COUNTED))
  return found < MAX_COUNTED ? found : Infinity
}

/** Rows of the runs whose boxes meet a box: at least as many as lie in it. */
function rowsInBox(db: Db, table: LoaderTable, [west, south, east, north]: Bbox): number {
  const where = 'max_lng >= ? AND min_lng <= ? AND max_lat >= ? AND min_lat <= ?'
  const sql = `SELECT coalesce(sum(row_count), 0) FROM ${indexSql(table)} WHERE ${where}`
  return oneValue<number>(db, sql, west, east, south, north)
}

/** Lets a statement be ended between two rows, before the condition is tested. */
function aliveSql(): string {
  return `row_alive(t.${ROW_ID})`
}

/**
 * True when a row's [start, end) and the span share an instant; null is unbounded. A row whose start equals
 * its end counts as that one instant: it is an event without duration. Bound: end of the span, start, start.
 */
const SPAN_SQL = `(t.start_datetime IS NULL OR t.start_datetime < ?) AND (t.end_datetime IS NULL OR t.end_datetime > ?
  OR (t.end_datetime = t.start_datetime AND t.start_datetime >= ?))`

/**
 * Returns SQL that reads matching rows by their ids, in the order of the ids. Bound: a JSON array of ids,
 * then the plan's params.
 *
 * @param select list of SQL over `t`
 */
export function byIdsSql(plan: QueryPlan, select: string): string {
  return `SELECT ${select} FROM json_each(?) AS "wanted ids" CROSS JOIN ${tableSql(plan.table)} AS t
    ON t.${ROW_ID} = "wanted ids".value WHERE ${plan.where}`
}

/**
 * Returns SQL that reads matching rows after one id up to another in a scan of the table: an index would be
 * searched again for each window. Bound: the ids, the plan's params.
 *
 * @param select list of SQL over `t`
 */
export function windowSql(plan: QueryPlan, select: string): string {
  return `SELECT ${select} FROM ${tableSql(plan.table)} AS t NOT INDEXED
    WHERE t.${ROW_ID} > ? AND t.${ROW_ID} <= ? AND ${plan.where} ORDER BY t.${ROW_ID}`
}

/**
 * Returns SQL that reads the first rows of a window as `windowSql` does, in the order of the plan: numbers alone,
 * whose order in SQLite is that of `compareStored`; null is the greatest. Bound: the ids, the plan's params, the
 * number of rows.
 *
 * @param keys SQL of the sort keys
 */
export function firstOfWindowSql(plan: QueryPlan, select: string, keys: readonly string[]): string {
  const terms = plan.order.map(({ isDescending }, at) =>
    isDescending ? `${keys[at]} DESC NULLS FIRST` : `${keys[at]} ASC NULLS LAST`,
  )
  return `SELECT ${select} FROM ${tableSql(plan.table)} AS t NOT INDEXED
    WHERE t.${ROW_ID} > ? AND t.${ROW_ID} <= ? AND ${plan.where} ORDER BY ${terms.join(', ')}, t.${ROW_ID} LIMIT ?`
}

/**
 * Returns SQL that reads the ids of rows with the plan's key values. Bound: the values, the number of rows.
 */
export function byKeySql(plan: Pick<QueryPlan, 'table' | 'key'>): string {
  const isKey = plan.key.map(({ column }) => `t.${identifier(column)} = ?`).join(' AND ')
  return `SELECT t.${ROW_ID} FROM ${tableSql(plan.table)} AS t WHERE ${isKey} LIMIT ?`
}

/**
 * The query's own area, else one that the condition requires. One box is enough: the exact tests check both
 * areas.
 */
function boxOf(area: PreparedArea | undefined, condition: Condition): Bbox | 'empty' | undefined {
  const bounding = area ?? requiredArea(condition, 'location')
  return bounding === undefined ? undefined : (bounding.bbox ?? 'empty')
}

/**
 * Returns the first columns of the unique key as far as the condition requires a value: its index can be
 * searched by them.
 */
function keyOf(table: LoaderTable, condition: Condition): { column: string; value: Operand }[] {
  const key: { column: string; value: Operand }[] = []
  for (const column of table.uniqueColumns) {
    const value = requiredValue(condition, column)
    if (value === undefined) break
    key.push({ column, value })
  }
  return key
}
