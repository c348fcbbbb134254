import type { Bbox } from '../../../geo/types.js'
import type { ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import { type Condition, parseCondition, requiredArea, requiredValue } from '../../columns/condition.js'
import { checkSteps, costlySteps } from '../../columns/condition-cost.js'
import { type OrderTerm, parseOrder } from '../../columns/order.js'
import { conditionColumns, readableColumns, wantedColumns } from '../../records/readable-columns.js'
import { END, START } from '../../records/record-plan.js'
import type { Column, LoaderTable, QueryPaths, Span, TableQuery } from '../../tables.js'
import type { Rows, Value } from '../connection/database.js'
import { ORIGIN_SQL } from '../tables/changed-sql.js'
import { columnName, LOCATION_SQL, periodSql, rowsName, sqlTypeOf } from '../tables/ddl.js'
import { type CompiledCondition, compileCondition, type SqlColumn, timetzKeySql } from './condition-sql.js'

/** A checked and compiled query. */
export interface QueryPlan extends Pick<CompiledCondition, 'residual' | 'outputs'> {
  readonly table: LoaderTable
  readonly query: TableQuery
  readonly order: readonly OrderTerm[]
  /** columns of the result in its order, without `location` */
  readonly columns: readonly Column[]
  /** SQL over the table's alias `t`, to be joined by AND */
  readonly where: readonly string[]
  /** values that are bound in `where` and `outputs` */
  readonly values: readonly Value[]
  /** true where no row can match */
  readonly isEmpty: boolean
}

/**
 * Checks and compiles a query.
 *
 * @param paths of the parts of the query in the caller's params, for error messages
 * @throws AppError BAD_CONDITION, TOO_EXPENSIVE, INVALID_PARAMS for an unknown column
 */
export async function planQuery(
  rows: Rows,
  table: LoaderTable,
  query: TableQuery,
  env: ValueEnv,
  paths: QueryPaths,
): Promise<QueryPlan> {
  const scope = conditionColumns(table)
  const order = parseOrder(query.order, scope, paths.order)
  const columns = wantedColumns(table, query.columns ?? [], paths.columns)
  const condition = parseCondition(query.conds, { columns: scope, env }, paths.conds)
  const area = query.area ?? requiredArea(condition, 'location')
  const isEmpty = area !== undefined && area.bbox === undefined
  const values: Value[] = []
  const bind = (value: Value) => `$${values.push(value)}`
  const bounds = [
    ...(area?.bbox === undefined ? [] : [placeSql(area.bbox, query.isNowhereIn === true, bind)]),
    ...(query.span === undefined ? [] : spanSql(query.span, bind)),
  ]
  const steps = costlySteps(condition)
  if (steps !== undefined && !isEmpty) {
    const bound = [...values] // a statement must use each of its parameters
    const where = [...bounds, ...keySqls(table, condition, (value) => `$${bound.push(value)}`)]
    checkSteps(steps, await rowFacts(rows, { table, where, values: bound }, steps), paths.conds)
  }
  const compiled = compileCondition(condition, { columnOf: (name) => sqlColumn(table, name), bind })
  return {
    ...{ table, query, order, columns, isEmpty },
    where: [...bounds, ...idsSql(query, bind), ...compiled.where],
    ...{ values, residual: compiled.residual, outputs: compiled.outputs },
  }
}

/** The node of a row's origin. */
const ORIGIN: SqlColumn = {
  sql: ORIGIN_SQL,
  type: 'text',
  elsewhere: {
    sql: 'o.node_id',
    rows: (term) => `t.origin IN (SELECT o.origin_id FROM row_origin AS o WHERE ${term})`,
  },
}

/** Returns the SQL of a column that a query may name. */
export function sqlColumn(table: LoaderTable, name: string): SqlColumn {
  const slot = table.columns.findIndex((column) => column.name === name)
  const column = table.columns[slot]
  if (column === undefined) return ORIGIN // only known columns, and the origin, arrive here
  return { sql: `t.${columnName(slot)}`, type: sqlTypeOf(column) }
}

/** Returns SQL whose values sort as those of a column do, with its type. */
export function sortColumn(table: LoaderTable, name: string): SqlColumn {
  const { sql, type } = sqlColumn(table, name)
  const column = readableColumns(table).get(name)
  const order = column === undefined ? null : typeOf(column.udtName).order
  if (order === 'timetz') return { sql: timetzKeySql(sql), type: 'bigint' }
  return { sql: order === 'trimmed' ? `rtrim(${sql}, ' ')` : sql, type }
}

type Bind = (value: Value) => string

/** The boxes of the index are those of the locations; the exact test follows. */
function placeSql([west, south, east, north]: Bbox, isNowhereIn: boolean, bind: Bind): string {
  const corner = (lng: number, lat: number) =>
    `point(${bind(lng)}::double precision, ${bind(lat)}::double precision)`
  const sql = `t.place && box(${corner(west, south)}, ${corner(east, north)})`
  return isNowhereIn ? `(${sql} OR ${LOCATION_SQL} IS NULL)` : sql
}

const INT8_MAX = 2n ** 63n - 1n

/**
 * Returns SQL that is true when a row's [start, end) and the span share an instant; null is unbounded. A row whose
 * start equals its end counts as that one instant: it is an event without duration. The first part is for the index.
 */
export function spanSql({ fromUs, untilUs }: Span, bind: Bind): string[] {
  const last = untilUs > fromUs ? untilUs : fromUs
  const upper = last >= INT8_MAX ? null : last
  const [from, until] = [`${bind(fromUs)}::bigint`, `${bind(untilUs)}::bigint`]
  const [start, end] = [`t.${columnName(START)}`, `t.${columnName(END)}`]
  return [
    `${periodSql('t.')} && int8range(${from}, ${bind(upper)}::bigint, '[]')`,
    `(${start} IS NULL OR ${start} < ${until})`,
    `(${end} IS NULL OR ${end} > ${from} OR (${end} = ${start} AND ${start} >= ${from}))`,
  ]
}

function idsSql({ afterId, beforeId }: TableQuery, bind: Bind): string[] {
  return [
    ...(afterId === undefined ? [] : [`t.row_id > ${bind(afterId)}::bigint`]),
    ...(beforeId === undefined ? [] : [`t.row_id < ${bind(beforeId)}::bigint`]),
  ]
}

/** Returns the conditions on the first columns of the unique key that a condition requires: its index finds them. */
function keySqls(table: LoaderTable, condition: Condition, bind: Bind): string[] {
  const required: string[] = []
  for (const name of table.uniqueColumns) {
    const value = requiredValue(condition, name)
    const column = conditionColumns(table).get(name)
    if (value === undefined || column === undefined) break
    const term: Condition = { kind: 'compare', operator: '=', column: { name, ...column }, value }
    required.push(...compileCondition(term, { columnOf: (of) => sqlColumn(table, of), bind }).where)
  }
  return required
}

/** Rows that are counted at most: with so many an index narrows nothing. */
const MAX_COUNTED = 100_000
/** Rows whose values stand for those of a table. */
const SAMPLE_ROWS = 20

/** Reads how many rows a condition is tested on, about, and how long the values of its columns are. */
async function rowFacts(
  rows: Rows,
  { table, where, values }: Pick<QueryPlan, 'table' | 'where' | 'values'>,
  steps: ReadonlyMap<string, number>,
) {
  const from = `${rowsName(table)} AS t`
  const range = `SELECT coalesce(max(row_id) - min(row_id) + 1, 0) FROM ${from}`
  const count = `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where.join(' AND ')} LIMIT ${MAX_COUNTED}) AS narrowed`
  const [[all] = []] = await rows.lists(range, [], 'once')
  const [[narrowed] = []] = where.length === 0 ? [] : await rows.lists(count, values, 'once')
  const isNarrow = narrowed !== undefined && Number(narrowed) < MAX_COUNTED
  const bytes = new Map<string, number>()
  for (const name of steps.keys()) {
    const sample = `SELECT ${sqlColumn(table, name).sql} AS value FROM ${from} LIMIT ${SAMPLE_ROWS}`
    const sql = `SELECT coalesce(avg(octet_length(value)), 0) FROM (${sample}) AS sample`
    const [[mean] = []] = await rows.lists(sql, [], 'once')
    bytes.set(name, Number(mean))
  }
  return {
    rows: isNarrow ? Math.min(Number(all), Number(narrowed)) : Number(all),
    meanBytes: (column: string) => bytes.get(column) ?? 0,
  }
}

/** Returns the WHERE of a plan with further conditions; empty for none. */
export function whereSql({ where }: Pick<QueryPlan, 'where'>, more: readonly string[] = []): string {
  const all = [...where, ...more]
  return all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`
}
