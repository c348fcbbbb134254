import { AppError } from '../../errors.js'
import { describeValue } from '../../geo/fault.js'
import { type ColumnType, isFault, type Stored, type ValueEnv } from './column-type.js'

/** A column as conditions see it; the map's key is its name. */
export interface ConditionColumn {
  readonly type: ColumnType
  readonly isEncrypted: boolean
  readonly srid: number | null
}

export interface ConditionScope {
  readonly columns: ReadonlyMap<string, ConditionColumn>
  readonly env: ValueEnv
  /** quoted and qualified SQL of a column */
  sqlOf(name: string): string
  /** keeps an area for the SQL functions `geo_intersects` and `geo_within`; the handle is bound in its place */
  addArea(json: unknown, path: string): number
}

export interface CompiledCondition {
  /** an SQL expression; every value in it is bound */
  readonly sql: string
  readonly params: readonly Exclude<Stored, null>[]
  /** column → value that every matching row has, from `=` at the top or within `and` */
  readonly equals: ReadonlyMap<string, Exclude<Stored, null>>
  /** area handles that every matching row's column intersects, likewise */
  readonly areas: ReadonlyMap<string, readonly number[]>
  /** comparisons that every matching row satisfies, likewise: what an index can be asked for */
  readonly needed: readonly NeededTerm[]
}

/** One comparison of one column with values. */
export interface NeededTerm {
  readonly column: string
  readonly sql: string
  readonly params: readonly Exclude<Stored, null>[]
}

export const CONDITION_LIMITS = { maxLevels: 32, maxTerms: 1000, maxPatternChars: 10_000 } as const

const COMPARISONS: Record<string, string> = {
  '=': '=',
  '==': '=',
  '<>': '<>',
  '!=': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}
const OPERATORS = [
  ...Object.keys(COMPARISONS),
  'and',
  'or',
  'not',
  'in',
  'like',
  'is_null',
  'between',
  'intersects',
  'within',
]

/**
 * Compiles a condition: `{"op": [column, value]}`, nested by `and`, `or` and `not`; `{}` and absence match everything.
 * Comparisons with a null column are neither true nor false, as in SQL, so `not` does not turn them into matches.
 *
 * @param path where the condition stands in the params, for instance `$.conds`
 * @throws AppError BAD_CONDITION, `data` = `{ path, found, expected }`
 */
export function compileCondition(json: unknown, scope: ConditionScope, path: string): CompiledCondition {
  const state: State = { scope, params: [], terms: 0, equals: new Map(), areas: new Map(), needed: [] }
  const isNothing = json === undefined || (isObject(json) && Object.keys(json).length === 0)
  const sql = isNothing ? '1' : compileOne(state, json, path, 1, true)
  const { params, equals, areas, needed } = state
  return { sql, params, equals, areas, needed }
}

interface State {
  readonly scope: ConditionScope
  readonly params: Exclude<Stored, null>[]
  terms: number
  readonly equals: Map<string, Exclude<Stored, null>>
  readonly areas: Map<string, number[]>
  readonly needed: NeededTerm[]
}

/** @param isNeeded every matching row satisfies this one: it stands at the top or within `and` only */
function compileOne(state: State, json: unknown, path: string, level: number, isNeeded: boolean): string {
  if (level > CONDITION_LIMITS.maxLevels)
    refuse(path, 'a deeper condition', `at most ${CONDITION_LIMITS.maxLevels} levels`)
  if (!isObject(json)) refuse(path, describeValue(json), 'a condition like {"=": ["column", value]}')
  const keys = Object.keys(json)
  const [operator] = keys
  if (operator === undefined || keys.length !== 1)
    refuse(path, `an object of ${keys.length} keys`, 'an object with one key, the operator')
  const at = `${path}[${JSON.stringify(operator.slice(0, 40))}]`
  const operand = json[operator]
  if (operator === 'and' || operator === 'or') {
    const parts = arrayOf(operand, at).map((part, index) =>
      compileOne(state, part, `${at}[${index}]`, level + 1, isNeeded && operator === 'and'),
    )
    return balanced(parts, operator === 'and' ? ' AND ' : ' OR ', operator === 'and' ? '1' : '0')
  }
  if (operator === 'not') return `NOT (${compileOne(state, operand, at, level + 1, false)})`
  countTerms(state, 1, at)
  return compileTerm(state, operator, operand, at, isNeeded)
}

function compileTerm(
  state: State,
  operator: string,
  operand: unknown,
  at: string,
  isNeeded: boolean,
): string {
  const compare = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined
  if (compare === undefined && !OPERATORS.includes(operator))
    refuse(at, `the operator ${describeValue(operator)}`, `one of ${OPERATORS.join(' ')}`)
  const [name, ...values] = arrayOf(operand, at)
  const column = columnOf(state, name, `${at}[0]`)
  if (operator === 'is_null') {
    expectCount(values, 0, at)
    return `${column.sql} IS NULL`
  }
  if (operator === 'intersects' || operator === 'within') {
    expectCount(values, 1, at)
    return compileSpatial(state, column, operator, values[0], at, isNeeded)
  }
  const { sortKey } = column.type
  if (sortKey === null)
    refuse(`${at}[0]`, `the column ${column.name} of a type without comparison`, 'another column, or is_null')
  if (operator === 'like') return compileLike(state, column, values, at)
  const before = state.params.length
  const sql = compileComparison(state, column, sortKey, { operator, compare, values }, at, isNeeded)
  if (isNeeded && compare !== '<>') {
    state.needed.push({ column: column.name, sql, params: state.params.slice(before) })
  }
  return sql
}

interface Comparison {
  operator: string
  /** SQL's spelling; undefined for `in` and `between` */
  compare: string | undefined
  values: unknown[]
}

function compileComparison(
  state: State,
  column: NamedColumn,
  sortKey: (sql: string) => string,
  { operator, compare, values }: Comparison,
  at: string,
  isNeeded: boolean,
): string {
  if (operator === 'in') {
    expectCount(values, 1, at)
    const list = arrayOf(values[0], `${at}[1]`)
    countTerms(state, Math.max(0, list.length - 1), at) // one was counted for the condition itself
    const marks = list.map((value, index) => sortKey(bindOf(state, column, value, `${at}[1][${index}]`)))
    return `${sortKey(column.sql)} IN (${marks.join(', ')})`
  }
  if (operator === 'between') {
    expectCount(values, 2, at)
    const [low, high] = values.map((value, index) =>
      sortKey(bindOf(state, column, value, `${at}[${index + 1}]`)),
    )
    return `${sortKey(column.sql)} BETWEEN ${low} AND ${high}`
  }
  expectCount(values, 1, at)
  const mark = sortKey(bindOf(state, column, values[0], `${at}[1]`))
  if (compare === '=' && isNeeded) state.equals.set(column.name, state.params.at(-1) as Exclude<Stored, null>)
  return `${sortKey(column.sql)} ${compare} ${mark}`
}

interface NamedColumn extends ConditionColumn {
  readonly name: string
  readonly sql: string
}

/** The only way for a name into SQL: it must be a column, and it goes in quoted. */
function columnOf(state: State, name: unknown, at: string): NamedColumn {
  const column = typeof name === 'string' ? state.scope.columns.get(name) : undefined
  if (typeof name !== 'string' || column === undefined) {
    const known = [...state.scope.columns.keys()].slice(0, 20).join(', ')
    refuse(at, describeValue(name), `the name of a column (${known})`)
  }
  if (column.isEncrypted) refuse(at, `the encrypted column ${name}`, 'a column that is not encrypted')
  return { ...column, name, sql: state.scope.sqlOf(name) }
}

/** Checks a value against the column's type and binds it. */
function bindOf(state: State, column: NamedColumn, json: unknown, at: string): string {
  if (json === null) refuse(at, 'null', `a value for the column ${column.name} (is_null asks for null)`)
  const value = column.type.operand(json, state.scope.env)
  if (isFault(value)) refuse(at, value.found, `${value.expected} for the column ${column.name}`)
  state.params.push(value as Exclude<Stored, null>)
  return '?'
}

/** An area is prepared once and reaches SQL as a handle. */
function compileSpatial(
  state: State,
  column: NamedColumn,
  operator: 'intersects' | 'within',
  json: unknown,
  at: string,
  isNeeded: boolean,
): string {
  if (column.srid === null) refuse(`${at}[0]`, `the column ${column.name}`, 'a geometry column')
  const handle = state.scope.addArea(json, `${at}[1]`)
  state.params.push(BigInt(handle))
  if (isNeeded) state.areas.set(column.name, [...(state.areas.get(column.name) ?? []), handle])
  return `geo_${operator}(${column.sql}, ?)`
}

/** `LIKE` as PostgreSQL has it: case counts, and a backslash takes the meaning from what follows. SQLite's GLOB does that. */
function compileLike(state: State, column: NamedColumn, values: unknown[], at: string): string {
  expectCount(values, 1, at)
  const [pattern] = values
  if (column.type.sqlType !== 'TEXT' || column.type.lengthUnit !== 'characters')
    refuse(`${at}[0]`, `the column ${column.name}`, 'a text column')
  const isFit = typeof pattern === 'string' && pattern.length <= CONDITION_LIMITS.maxPatternChars
  if (!isFit)
    refuse(
      `${at}[1]`,
      describeValue(pattern),
      `a pattern of at most ${CONDITION_LIMITS.maxPatternChars} characters`,
    )
  let glob = ''
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern.charAt(index)
    if (char === '%') glob += '*'
    else if (char === '_') glob += '?'
    else if (char === '\\') {
      if (++index === pattern.length)
        refuse(`${at}[1]`, 'a backslash at the end', 'a character after each backslash')
      glob += literal(pattern.charAt(index))
    } else glob += literal(char)
  }
  state.params.push(glob)
  return `${column.sql} GLOB ?`
}

/** GLOB's own characters, taken literally. */
function literal(char: string): string {
  return char === '*' || char === '?' || char === '[' ? `[${char}]` : char
}

/** SQLite refuses trees deeper than 1,000: a long `and` becomes a balanced one. */
function balanced(parts: string[], joiner: string, whenEmpty: string): string {
  if (parts.length === 0) return whenEmpty
  if (parts.length === 1) return parts[0] as string
  const middle = parts.length >> 1
  return `(${balanced(parts.slice(0, middle), joiner, whenEmpty)}${joiner}${balanced(parts.slice(middle), joiner, whenEmpty)})`
}

/** A list of values is as much work as that many comparisons. */
function countTerms(state: State, count: number, at: string): void {
  state.terms += count
  if (state.terms > CONDITION_LIMITS.maxTerms)
    refuse(at, 'more terms', `at most ${CONDITION_LIMITS.maxTerms} comparisons and listed values`)
}

function expectCount(values: unknown[], count: number, at: string): void {
  if (values.length !== count)
    refuse(at, `${values.length} values after the column`, count === 0 ? 'none' : String(count))
}

function arrayOf(json: unknown, at: string): unknown[] {
  if (!Array.isArray(json)) refuse(at, describeValue(json), 'an array')
  return json
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function refuse(path: string, found: string, expected: string): never {
  throw new AppError(
    'BAD_CONDITION',
    { path, found, expected },
    { message: `Bad condition at ${path}: found ${found}, expected ${expected}` },
  )
}
