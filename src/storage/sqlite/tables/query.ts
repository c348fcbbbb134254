import { AppError } from '../../../errors.js'
import { faultText, isFault } from '../../../geo/fault.js'
import { type PreparedArea, prepareArea } from '../../../geo/prepared-area.js'
import type { Bbox } from '../../../geo/types.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import { readGeometry } from '../../columns/column-types-bytes.js'
import { type CompiledCondition, type ConditionColumn, compileCondition } from '../../columns/condition.js'
import { type OrderTerm, parseOrder } from '../../columns/order.js'
import type { Column, LoaderTable, QueryPaths, TableQuery } from '../../tables.js'
import { type Db, identifier } from '../connection/database.js'
import { areaOfHandle, dropArea, keepArea } from '../connection/sql-functions.js'
import { ROW_ID, tableSql } from './ddl.js'

/** A query made ready to run. */
export interface QueryPlan {
  readonly table: LoaderTable
  readonly query: TableQuery
  readonly order: readonly OrderTerm[]
  /** columns of the answer, in the order they go out; `location` is read beside them */
  readonly columns: readonly Column[]
  /** SQL over the table's alias `t`, and what is bound in it */
  readonly where: string
  readonly params: readonly Exclude<Stored, null>[]
  /** box of every matching row's location; `empty` when no row can match */
  readonly box: Bbox | 'empty' | undefined
  /** values of the leading columns of the unique key that every matching row has */
  readonly key: readonly { column: string; value: Exclude<Stored, null> }[]
  /** must be called when the query has ended: lets go of the areas of its condition */
  release(): void
}

/** @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column */
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
  const handles: number[] = []
  const release = () => {
    for (const handle of handles.splice(0)) dropArea(db, handle)
  }
  try {
    const condition = compileCondition(
      query.conds,
      {
        columns: scope,
        env,
        sqlOf: (name) => `t.${identifier(name)}`,
        addArea(json, path) {
          const handle = keepArea(db, readArea(json, path))
          handles.push(handle)
          return handle
        },
      },
      paths.conds,
    )
    const span = query.span === undefined ? [] : [query.span.untilUs, query.span.fromUs, query.span.fromUs]
    return {
      table,
      query,
      order,
      columns,
      where: query.span === undefined ? condition.sql : `${SPAN_SQL} AND ${condition.sql}`,
      params: [...span, ...condition.params],
      box: boxOf(db, query.area, condition),
      key: keyOf(table, condition),
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Columns of a table as conditions see them. */
export function conditionColumns(table: LoaderTable): Map<string, ConditionColumn> {
  return new Map(
    table.columns.map(({ name, udtName, isEncrypted, srid }) => [
      name,
      { type: typeOf(udtName), isEncrypted, srid },
    ]),
  )
}

/**
 * A row's [start, end) and the query's share an instant; a null end of either kind has no bound. A row of no length counts
 * as its one instant, for that is what an event without duration is.
 */
const SPAN_SQL = `(t.start_datetime IS NULL OR t.start_datetime < ?) AND (t.end_datetime IS NULL OR t.end_datetime > ?
  OR (t.end_datetime = t.start_datetime AND t.start_datetime >= ?))`

/** Statements of a plan. `select` is a list of SQL over `t`. */
export function byIdsSql(plan: QueryPlan, select: string): string {
  return `SELECT ${select} FROM json_each(?) AS "wanted ids" CROSS JOIN ${tableSql(plan.table)} AS t
    ON t.${ROW_ID} = "wanted ids".value WHERE ${plan.where}`
}

/** Rows after one id up to another, read along the table itself: an index would be gone through again for each window. */
export function windowSql(plan: QueryPlan, select: string): string {
  return `SELECT ${select} FROM ${tableSql(plan.table)} AS t NOT INDEXED
    WHERE t.${ROW_ID} > ? AND t.${ROW_ID} <= ? AND ${plan.where} ORDER BY t.${ROW_ID} LIMIT ?`
}

/** Row ids of the rows that have the plan's key values, at most so many. */
export function byKeySql(plan: QueryPlan): string {
  const isKey = plan.key.map(({ column }) => `t.${identifier(column)} = ?`).join(' AND ')
  return `SELECT t.${ROW_ID} FROM ${tableSql(plan.table)} AS t WHERE ${isKey} LIMIT ?`
}

/** `location` is always read and stands beside the columns; a column asked for twice comes once. */
function wantedColumns(table: LoaderTable, names: readonly string[], path: string): Column[] {
  if (names.length === 0) return table.columns.filter(({ name }) => name !== 'location')
  const columns: Column[] = []
  for (const [index, name] of names.entries()) {
    const column = table.columnByName.get(name)
    if (column === undefined) {
      const at = `${path}[${index}]`
      const message = `found ${JSON.stringify(name.slice(0, 100))}, expected a column of ${table.dataName}`
      const faults = [{ path: at, message }]
      throw new AppError('INVALID_PARAMS', { faults }, { message: `Invalid params: ${at}: ${message}` })
    }
    if (name !== 'location' && !columns.includes(column)) columns.push(column)
  }
  return columns
}

/** The faults of a geometry within a condition are faults of the condition. */
function readArea(json: unknown, path: string): PreparedArea {
  const geometry = readGeometry(json, undefined)
  if (!isFault(geometry)) return prepareArea(geometry)
  const fault = { path: `${path}${geometry.path}`, found: geometry.found, expected: geometry.expected }
  throw new AppError('BAD_CONDITION', fault, { message: `Bad condition at ${faultText(fault)}` })
}

/**
 * The query's own area, else one that a condition needs. When both are there the exact tests see to the other; looking up
 * one box is enough.
 */
function boxOf(
  db: Db,
  area: PreparedArea | undefined,
  condition: CompiledCondition,
): Bbox | 'empty' | undefined {
  const [handle] = condition.areas.get('location') ?? []
  const bounding = area ?? (handle === undefined ? undefined : areaOfHandle(db, handle))
  return bounding === undefined ? undefined : (bounding.bbox ?? 'empty')
}

/** As many leading columns of the unique key as have one value each: what its index can be asked for. */
function keyOf(
  table: LoaderTable,
  condition: CompiledCondition,
): { column: string; value: Exclude<Stored, null> }[] {
  const key: { column: string; value: Exclude<Stored, null> }[] = []
  for (const column of table.uniqueColumns) {
    const value = condition.equals.get(column)
    if (value === undefined) break
    key.push({ column, value })
  }
  return key
}
