import { AppError } from '../../../errors.js'
import { faultText, isFault } from '../../../geo/fault.js'
import { type PreparedArea, prepareArea } from '../../../geo/prepared-area.js'
import type { Bbox } from '../../../geo/types.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { readGeometry } from '../../columns/column-types-bytes.js'
import { plainDecimal } from '../../columns/column-types-decimal.js'
import { type CompiledCondition, compileCondition, type NeededTerm } from '../../columns/condition.js'
import { type OrderTerm, parseOrder } from '../../columns/order.js'
import { type Db, identifier } from '../connection/database.js'
import { areaOfHandle, dropArea, keepArea } from '../connection/sql-functions.js'
import type { StateColumn } from '../datasets/column.js'
import { ROW_ID } from '../tables/ddl.js'
import { FROM_TX, fromTxSql, TO_TX, VERSION_ID, type VersionedTable, versionNames } from './versions.js'

/** The rows of a table at one transaction. */
export interface TableState {
  readonly table: VersionedTable
  /** rows that began by then and had not ended; `current` for the rows that stand now */
  readonly tx: number | 'current'
  /** rows of a higher id came later */
  readonly lastRowId: number
  /** columns that the state has */
  readonly columns: readonly StateColumn[]
}

/** Which rows of a state, in what order; not yet checked. */
export interface StateQuery {
  conds?: unknown
  /** a column, `-column`, or an array of those; ties end with the row id */
  order?: unknown
  /** absent or empty for all */
  columns?: readonly string[] | undefined
  offset?: number | undefined
  limit?: number | undefined
  /** rows of higher ids than this */
  afterId?: number | undefined
  /** rows of lower ids than this */
  beforeId?: number | undefined
  /** the last `limit` of the rows instead of the first, ascending all the same; not beside an order */
  isFromEnd?: boolean | undefined
  /** rows whose geometry in a column intersects an area exactly; with `isNullIn` those that have none, too */
  within?: { column: string; area: PreparedArea; isNullIn?: boolean } | undefined
  /** rows whose [start, end) in two columns overlaps this half-open span, µs UTC; a null end of either kind has no bound */
  span?: { start: string; end: string; fromUs: bigint; untilUs: bigint } | undefined
}

/** Where the parts of a query stand in the caller's params, for messages. */
export interface StatePaths {
  conds: string
  order: string
  columns: string
}

/** A query made ready to run. */
export interface StatePlan {
  readonly state: TableState
  readonly query: StateQuery
  readonly order: readonly OrderTerm[]
  /** columns of the answer, in the order they go out */
  readonly columns: readonly StateColumn[]
  /** SQL over the aliases of `stateSql`; `1` for everything */
  readonly where: string
  readonly params: readonly Exclude<Stored, null>[]
  /** comparisons of key columns that every match satisfies, the first column of the key among them; empty for none */
  readonly keyTerms: readonly NeededTerm[]
  /** a geometry column and a box that every match touches; `empty` when nothing can match */
  readonly box: { slot: number; bbox: Bbox } | 'empty' | undefined
  /** must be called when the query has ended: lets go of the areas of its condition */
  release(): void
}

/** The name under which a row's range of transactions can be asked for. */
export const TRANSACTION_RANGE = '_transaction_range'

/** @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column */
export function planState(
  db: Db,
  state: TableState,
  query: StateQuery,
  env: ValueEnv,
  paths: StatePaths,
): StatePlan {
  const scope = new Map(state.columns.map((column) => [column.name, column]))
  const order = parseOrder(query.order, scope, paths.order)
  const columns = wantedColumns(state, query.columns ?? [], paths.columns)
  const handles: number[] = []
  const release = () => {
    for (const handle of handles.splice(0)) dropArea(db, handle)
  }
  const addArea = (json: unknown, path: string) => {
    const handle = keepArea(db, readArea(json, path))
    handles.push(handle)
    return handle
  }
  try {
    const compile = (sqlOf: (name: string) => string) =>
      compileCondition(query.conds, { columns: scope, env, addArea, sqlOf }, paths.conds)
    const condition = compile((name) => mergedSql(state, scope.get(name) as StateColumn))
    const isTrivial = condition.sql === '1'
    const more = moreTerms(state, query, (area) => {
      const handle = keepArea(db, area)
      handles.push(handle)
      return handle
    })
    return {
      state,
      query,
      order,
      columns,
      where: [...more.map(({ sql }) => sql), condition.sql].join(' AND '),
      params: [...more.flatMap(({ params }) => params), ...condition.params],
      keyTerms: isTrivial ? [] : keyTermsOf(state.table, compile(identifier)),
      box: withinBox(state, query) ?? boxOf(db, state, condition),
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Reads rows by their ids, in the order of the ids; those that the state does not have are left out. Bound: `@ids` (a JSON
 * array), `@tx`, then the plan's own.
 *
 * @param select SQL list over the aliases `c` (current rows) and `h` (history), of which exactly one has the row
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

/** The next row ids of a state, gone rows too, whether or not it has them. Bound: `@after`, `@until`, `@count`. */
export function nextIdsSql(state: TableState): string {
  const { current, gone } = versionNames(state.table)
  const ids = (name: string) =>
    `SELECT ${ROW_ID} AS id FROM ${name} WHERE ${ROW_ID} > @after AND ${ROW_ID} <= @until`
  const all = state.tx === 'current' ? ids(current) : `${ids(current)} UNION ${ids(gone)}`
  return `${all} ORDER BY id LIMIT @count`
}

/** The ids before them, the highest first. Bound: `@after`, `@until`, `@count`. */
export function previousIdsSql(state: TableState): string {
  return nextIdsSql(state).replace(/ORDER BY id LIMIT/, 'ORDER BY id DESC LIMIT')
}

/** Row ids by the plan's key terms: a row has one key through all its versions. Bound: the terms twice, `@count`. */
export function keyIdsSql({ state, keyTerms }: StatePlan): string {
  const { current, gone } = versionNames(state.table)
  const where = keyTerms.map(({ sql }) => sql).join(' AND ')
  return `SELECT ${ROW_ID} FROM ${current} WHERE ${where} UNION ALL SELECT ${ROW_ID} FROM ${gone} WHERE ${where} LIMIT @count`
}

/** Row ids by a box, of a dataset. Bound: `@west`, `@east`, `@south`, `@north`, `@count`. */
export function boxIdsSql({ table, tx }: TableState, slot: number): string {
  const names = versionNames(table)
  const where = 'WHERE max_x >= @west AND min_x <= @east AND max_y >= @south AND min_y <= @north'
  const now = `SELECT row_id FROM ${names.rtree(slot)} ${where}`
  const past = tx === 'current' ? '' : ` UNION ALL SELECT row_id FROM ${names.past(slot)} ${where}`
  return `${now}${past} LIMIT @count`
}

/** A column of whichever version of the row the state sees: of the other one everything is null. */
export function mergedSql({ tx }: TableState, { name, type }: StateColumn): string {
  const sqlName = identifier(name)
  const merged = tx === 'current' ? `c.${sqlName}` : `coalesce(c.${sqlName}, h.${sqlName})`
  return type.collation === undefined ? merged : `(${merged}) COLLATE ${type.collation}`
}

/** When the version of the row began, µs; null of rows that are older than their table's first citation. */
export function beganAtSql({ table, tx }: TableState): string {
  const began = fromTxSql(table)
  const fromTx =
    tx === 'current' ? began : `CASE WHEN c.${ROW_ID} IS NULL THEN h.${FROM_TX} ELSE ${began} END`
  return `(SELECT t.at_us FROM row_transaction AS t WHERE t.tx = ${fromTx})`
}

export function rowIdSql({ tx }: TableState): string {
  return tx === 'current' ? `c.${ROW_ID}` : `coalesce(c.${ROW_ID}, h.${ROW_ID})`
}

function wantedColumns(state: TableState, names: readonly string[], path: string): StateColumn[] {
  if (names.length === 0) return [...state.columns]
  const columns: StateColumn[] = []
  for (const [index, name] of names.entries()) {
    const column = name === TRANSACTION_RANGE ? RANGE_COLUMN : state.columns.find((one) => one.name === name)
    if (column === undefined) {
      const known = state.columns
        .map((one) => one.name)
        .slice(0, 20)
        .join(', ')
      const message = `${path}[${index}]: found ${JSON.stringify(name.slice(0, 100))}, expected one of ${known}`
      throw new AppError('INVALID_PARAMS', { faults: [{ path: `${path}[${index}]`, message }] }, { message })
    }
    if (!columns.includes(column)) columns.push(column)
  }
  return columns
}

/** Stands in the place of a column; its value is when the version of the row began, µs. */
const RANGE_COLUMN: StateColumn = {
  name: TRANSACTION_RANGE,
  type: {
    dataType: 'tstzrange',
    sqlType: 'INTEGER',
    form: 'range of transactions',
    lengthUnit: null,
    sortKey: null,
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

function readArea(json: unknown, path: string): PreparedArea {
  const geometry = readGeometry(json, undefined)
  if (!isFault(geometry)) return prepareArea(geometry)
  const fault = { path: `${path}${geometry.path}`, found: geometry.found, expected: geometry.expected }
  throw new AppError('BAD_CONDITION', fault, { message: `Bad condition at ${faultText(fault)}` })
}

/** Terms that the key's index can be asked for. */
function keyTermsOf(table: VersionedTable, { needed, equals }: CompiledCondition): NeededTerm[] {
  const terms = table.keyColumns.flatMap((key) => {
    const column = table.columns.find(({ name }) => name === key)
    if (column?.type.sortKey?.('') === '') return needed.filter((term) => term.column === key)
    if (column?.udtName !== 'numeric') return [] // compared by a function, which the index knows nothing of
    const value = equals.get(key) // equal numbers have equal texts in a key
    if (value === undefined) return []
    return [{ column: key, sql: `${identifier(key)} = ?`, params: [plainDecimal(String(value))] }]
  })
  return terms.some(({ column }) => column === table.keyColumns[0]) ? terms : []
}

interface Term {
  sql: string
  params: Exclude<Stored, null>[]
}

/** What a query asks besides its condition. */
function moreTerms(
  state: TableState,
  { within, span }: StateQuery,
  keep: (area: PreparedArea) => number,
): Term[] {
  const sqlOf = (name: string) => {
    const column = state.columns.find((one) => one.name === name)
    if (column === undefined) throw new Error(`a query names the column ${name}, which is not there`)
    return mergedSql(state, column)
  }
  const terms: Term[] = []
  if (within !== undefined) {
    const column = sqlOf(within.column)
    const orNull = within.isNullIn === true ? ` OR ${column} IS NULL` : ''
    terms.push({ sql: `(geo_intersects(${column}, ?)${orNull})`, params: [BigInt(keep(within.area))] })
  }
  if (span !== undefined) {
    const [start, end] = [sqlOf(span.start), sqlOf(span.end)]
    // a row of no length counts as its one instant, for that is what an event without duration is
    const sql = `(${start} IS NULL OR ${start} < ?) AND (${end} IS NULL OR ${end} > ?
      OR (${end} = ${start} AND ${start} >= ?))`
    terms.push({ sql, params: [span.untilUs, span.fromUs, span.fromUs] })
  }
  return terms
}

/** A dataset's R*Tree knows nothing of rows without a geometry: where those are asked for it cannot help. */
function withinBox({ columns, table }: TableState, { within }: StateQuery): StatePlan['box'] {
  if (within === undefined) return undefined
  const slot = columns.findIndex(({ name }) => name === within.column)
  const { bbox } = within.area
  if (within.isNullIn === true && table.loader === undefined && columns[slot]?.isNullable === true)
    return undefined
  return bbox === undefined ? 'empty' : { slot, bbox }
}

function boxOf(db: Db, { columns }: TableState, { areas }: CompiledCondition): StatePlan['box'] {
  for (const [slot, { name }] of columns.entries()) {
    const [handle] = areas.get(name) ?? []
    const area = handle === undefined ? undefined : areaOfHandle(db, handle)
    if (area !== undefined) return area.bbox === undefined ? 'empty' : { slot, bbox: area.bbox }
  }
  return undefined
}
