import { invalidParams } from '../../../errors.js'
import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Bbox } from '../../../geo/types.js'
import { candidates } from '../../../messages/candidates.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import {
  type Condition,
  type Operand,
  parseCondition,
  requiredArea,
  requiredTerms,
  requiredValue,
  type Term,
} from '../../columns/condition.js'
import { checkCost } from '../../columns/condition-cost.js'
import { plainDecimal } from '../../columns/decimal-type.js'
import { type OrderTerm, parseOrder } from '../../columns/order.js'
import type { StateColumn } from '../../columns/state-column.js'
import { type StatePaths, type StateQuery, TRANSACTION_RANGE } from '../../datasets/states.js'
import { compileCondition } from '../connection/condition-sql.js'
import { type Db, identifier } from '../connection/database.js'
import { dropArea, keepArea } from '../connection/sql-functions.js'
import { valueLimitOf } from '../connection/value-limit.js'
import { stateFacts } from './state-facts.js'
import { mergedSql, rowIdSql } from './state-sql.js'
import type { TableState, VersionedTable } from './versioned-table.js'

/** Checked and compiled query. */
export interface StatePlan {
  readonly state: TableState
  readonly query: StateQuery
  readonly order: readonly OrderTerm[]
  /** columns of the result, in its order */
  readonly columns: readonly StateColumn[]
  /** SQL over the aliases of `stateSql`; `1` when every row matches */
  readonly where: string
  readonly params: readonly Exclude<Stored, null>[]
  /**
   * comparisons of key columns that every match satisfies, the first key column among them; empty for none
   */
  readonly keyTerms: readonly KeyTerm[]
  /** a geometry column and a box that every match touches; `empty` when nothing can match */
  readonly box: { slot: number; bbox: Bbox } | 'empty' | undefined
  /** frees the areas of the condition; must be called when the query has ended */
  release(): void
}

/**
 * Checks and compiles a query.
 *
 * @param db connection that will run it: it holds the areas of the condition
 * @param paths places of the query's parts in the caller's params, for messages
 * @throws AppError BAD_CONDITION, TOO_EXPENSIVE, INVALID_PARAMS for an unknown column
 */
export function planState(
  db: Db,
  state: TableState,
  query: StateQuery,
  { env, paths }: { env: ValueEnv; paths: StatePaths },
): StatePlan {
  const scope = new Map(state.columns.map((column) => [column.name, column]))
  const order = parseOrder(query.order, scope, paths.order)
  const columns = wantedColumns(state, query.columns ?? [], paths.columns)
  const handles: number[] = []
  const release = () => {
    for (const handle of handles.splice(0)) dropArea(db, handle)
  }
  const keep = (area: PreparedArea) => {
    const handle = keepArea(db, area)
    handles.push(handle)
    return handle
  }
  try {
    const parsed = parseCondition(query.conds, { columns: scope, env }, paths.conds)
    const keyTerms = keyTermsOf(state.table, parsed)
    const box = withinBox(state, query) ?? boxOf(state, parsed)
    checkCost(parsed, paths.conds, () => stateFacts(db, state, { keyTerms, box }))
    const sqlOf = (name: string) => mergedSql(state, requireColumn(state, name))
    const condition = compileCondition(parsed, { sqlOf, keepArea: keep, maxValueBytes: valueLimitOf(db) })
    const terms = otherTerms(state, query, keep)
    return {
      state,
      query,
      order,
      columns,
      where: [...terms.map(({ sql }) => sql), ...aliveSql(state, condition.sql), condition.sql].join(' AND '),
      params: [...terms.flatMap(({ params }) => params), ...condition.params],
      keyTerms: condition.sql === '1' ? [] : keyTerms,
      box,
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Lets a statement be ended between two rows, before the condition is tested. */
function aliveSql(state: TableState, condition: string): string[] {
  return condition === '1' ? [] : [`row_alive(${rowIdSql(state)})`]
}

function wantedColumns(state: TableState, names: readonly string[], path: string): StateColumn[] {
  if (names.length === 0) return [...state.columns]
  const columns: StateColumn[] = []
  for (const [index, name] of names.entries()) {
    const column = name === TRANSACTION_RANGE ? RANGE_COLUMN : state.columns.find((one) => one.name === name)
    if (column === undefined) {
      const known = candidates(
        state.columns.map((one) => one.name),
        name,
      )
      const message = `found ${JSON.stringify(name.slice(0, 100))}, expected one of ${known}`
      throw invalidParams([{ path: `${path}[${index}]`, message }])
    }
    if (!columns.includes(column)) columns.push(column)
  }
  return columns
}

/** Virtual column; its value is the time when the row's version began, µs UTC. */
const RANGE_COLUMN: StateColumn = {
  name: TRANSACTION_RANGE,
  type: {
    dataType: 'tstzrange',
    kind: 'integer',
    form: 'range of transactions',
    lengthUnit: null,
    order: null,
    read: () => null,
    operand: () => ({ found: 'a range', expected: 'a column that can be compared' }),
    print: (stored) => stored,
    renderDefault: (given) => given,
  },
  udtName: 'tstzrange',
  rules: { length: null, srid: null },
  isNullable: true,
  srid: null,
  isEncrypted: false,
  isFile: false,
  typeText: 'tstzrange',
}

/** A comparison of one key column, compiled for the columns of a table without an alias. */
interface KeyTerm {
  readonly column: string
  readonly sql: string
  readonly params: readonly Operand[]
}

/** Returns the comparisons that the index of the unique key can answer. */
function keyTermsOf(table: VersionedTable, condition: Condition): KeyTerm[] {
  const required = requiredTerms(condition).filter(isIndexable)
  const terms = table.keyColumns.flatMap((key): KeyTerm[] => {
    const column = table.columns.find(({ name }) => name === key)
    const order = column?.type.order
    if (order === 'stored' || order === 'trimmed') {
      return required
        .filter((term) => term.column.name === key)
        .map((term) => ({ column: key, ...compileCondition(term, { sqlOf: identifier, keepArea: () => 0 }) }))
    }
    if (column?.udtName !== 'numeric') return [] // compared by a function, which no index covers
    const value = requiredValue(condition, key) // equal numbers have equal texts in a key
    if (value === undefined) return []
    return [{ column: key, sql: `${identifier(key)} = ?`, params: [plainDecimal(String(value))] }]
  })
  return terms.some(({ column }) => column === table.keyColumns[0]) ? terms : []
}

function isIndexable(term: Term): boolean {
  return term.kind === 'in' || term.kind === 'between' || (term.kind === 'compare' && term.operator !== '<>')
}

interface SqlTerm {
  sql: string
  params: Exclude<Stored, null>[]
}

/** Returns the terms of a query's area and span. */
function otherTerms(
  state: TableState,
  { within, span }: StateQuery,
  keep: (area: PreparedArea) => number,
): SqlTerm[] {
  const sqlOf = (name: string) => mergedSql(state, requireColumn(state, name))
  const terms: SqlTerm[] = []
  if (within !== undefined) {
    const column = sqlOf(within.column)
    const orNull = within.isNullIn === true ? ` OR ${column} IS NULL` : ''
    terms.push({ sql: `(geo_intersects(${column}, ?)${orNull})`, params: [BigInt(keep(within.area))] })
  }
  if (span !== undefined) {
    const [start, end] = [sqlOf(span.start), sqlOf(span.end)]
    // a row without duration is an event: it counts as its one instant
    const sql = `(${start} IS NULL OR ${start} < ?) AND (${end} IS NULL OR ${end} > ?
      OR (${end} = ${start} AND ${start} >= ?))`
    terms.push({ sql, params: [span.untilUs, span.fromUs, span.fromUs] })
  }
  return terms
}

/** @throws Error when the state has no such column: queries are checked before */
export function requireColumn({ columns }: TableState, name: string): StateColumn {
  const column = columns.find((one) => one.name === name)
  if (column === undefined) throw new Error(`the state has no column ${name}`)
  return column
}

/** A dataset's R*Tree holds no rows without a geometry, so it cannot answer a query that includes them. */
function withinBox({ columns, table }: TableState, { within }: StateQuery): StatePlan['box'] {
  if (within === undefined) return undefined
  const slot = columns.findIndex(({ name }) => name === within.column)
  const { bbox } = within.area
  if (within.isNullIn === true && table.loader === undefined && columns[slot]?.isNullable === true)
    return undefined
  return bbox === undefined ? 'empty' : { slot, bbox }
}

function boxOf({ columns }: TableState, condition: Condition): StatePlan['box'] {
  for (const [slot, { name }] of columns.entries()) {
    const area = requiredArea(condition, name)
    if (area !== undefined) return area.bbox === undefined ? 'empty' : { slot, bbox: area.bbox }
  }
  return undefined
}
