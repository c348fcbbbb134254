import { AppError } from '../../errors.js'
import { isFault as isGeometryFault } from '../../geo/fault.js'
import { type PreparedArea, prepareArea } from '../../geo/prepared-area.js'
import { candidates } from '../../messages/candidates.js'
import { describeFound } from '../../messages/fault-text.js'
import { readGeometryFor } from './byte-types.js'
import { type ColumnType, isFault, type Stored, type ValueEnv } from './column-type.js'

/** A column as conditions see it; the key in the map is its name. */
export interface ConditionColumn {
  readonly type: ColumnType
  readonly isEncrypted: boolean
  readonly srid: number | null
}

/** Columns that a condition may name, and the environment of its values. */
interface ConditionScope {
  readonly columns: ReadonlyMap<string, ConditionColumn>
  readonly env: ValueEnv
}

/** A checked condition. `all` without parts matches every row, `any` without parts none. */
export type Condition =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | Term

/**
 * Test of one column. A comparison with null is neither true nor false, so `not` does not make it a match.
 */
export type Term = Comparison | ListTest | RangeTest | PatternTest | NullTest | AreaTest

type CompareOperator = '=' | '<>' | '<' | '<=' | '>' | '>='

/** A value to compare with, in the stored form of the column. */
export type Operand = Exclude<Stored, null>

/** Column of a term. */
interface TermColumn extends ConditionColumn {
  readonly name: string
}

interface Comparison {
  readonly kind: 'compare'
  readonly column: TermColumn
  readonly operator: CompareOperator
  readonly value: Operand
}

/** True when the value equals one of the list. */
interface ListTest {
  readonly kind: 'in'
  readonly column: TermColumn
  readonly values: readonly Operand[]
}

/** True within an inclusive range. */
interface RangeTest {
  readonly kind: 'between'
  readonly column: TermColumn
  readonly low: Operand
  readonly high: Operand
}

/**
 * `LIKE` as in PostgreSQL: `%`, `_`, case-sensitive, and a backslash before each literal `%`, `_` or
 * backslash.
 */
export interface PatternTest {
  readonly kind: 'like'
  readonly column: TermColumn
  readonly pattern: string
}

interface NullTest {
  readonly kind: 'is_null'
  readonly column: TermColumn
}

/** Exact test of a geometry column against an area. */
interface AreaTest {
  readonly kind: 'intersects' | 'within'
  readonly column: TermColumn
  readonly area: PreparedArea
}

/** Limits of one condition; a listed value counts as a term. */
const CONDITION_LIMITS = { maxLevels: 32, maxTerms: 1000, maxPatternChars: 10_000 } as const

const COMPARISONS: Record<string, CompareOperator> = {
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
 * Parses and checks a condition: `{"op": [column, value]}`, nested by `and`, `or` and `not`. `{}` and
 * undefined match every row.
 *
 * @param path of the condition in the params, for instance `$.conds`
 * @throws AppError BAD_CONDITION, `data` = `{ path, found, expected }`
 */
export function parseCondition(json: unknown, scope: ConditionScope, path: string): Condition {
  return isEmptyCondition(json) ? { kind: 'all', parts: [] } : parseOne({ scope, terms: 0 }, json, path, 1)
}

/** True for a condition that matches every row: `{}` or undefined. Costs no parse. */
export function isEmptyCondition(json: unknown): boolean {
  return json === undefined || (isObject(json) && Object.keys(json).length === 0)
}

/** True for `{"=": [column, value]}`, with the value unchecked. Costs no parse. */
export function isEqualityOf(json: unknown, column: string): boolean {
  if (!isObject(json)) return false
  const [[operator, operands] = [], ...more] = Object.entries(json)
  const isEquality = operator !== undefined && COMPARISONS[operator] === '=' && more.length === 0
  return isEquality && Array.isArray(operands) && operands[0] === column
}

/** Returns the terms that every matching row satisfies: those at the top and within `and`. */
export function requiredTerms(condition: Condition): Term[] {
  if ('parts' in condition) return condition.kind === 'all' ? condition.parts.flatMap(requiredTerms) : []
  return condition.kind === 'not' ? [] : [condition]
}

/**
 * Returns an area that every matching row's value of a column intersects; undefined when the condition names
 * none.
 */
export function requiredArea(condition: Condition, column: string): PreparedArea | undefined {
  for (const term of requiredTerms(condition)) {
    const isArea = term.kind === 'intersects' || term.kind === 'within'
    if (isArea && term.column.name === column) return term.area
  }
  return undefined
}

/** Returns a value that every matching row has in a column; undefined when the condition states none. */
export function requiredValue(condition: Condition, column: string): Operand | undefined {
  const term = requiredTerms(condition).findLast(
    (one) => one.kind === 'compare' && one.operator === '=' && one.column.name === column,
  )
  return term?.kind === 'compare' ? term.value : undefined
}

interface ParseState {
  readonly scope: ConditionScope
  terms: number
}

function parseOne(state: ParseState, json: unknown, path: string, level: number): Condition {
  if (level > CONDITION_LIMITS.maxLevels)
    refuse(path, 'a deeper condition', `at most ${CONDITION_LIMITS.maxLevels} levels`)
  if (!isObject(json)) refuse(path, describeFound(json), 'a condition like {"=": ["column", value]}')
  const keys = Object.keys(json)
  const [operator] = keys
  if (operator === undefined || keys.length !== 1)
    refuse(path, `an object of ${keys.length} keys`, 'an object with one key, the operator')
  const at = `${path}[${JSON.stringify(operator.slice(0, 40))}]`
  const operand = json[operator]
  if (operator === 'and' || operator === 'or') {
    const parts = arrayOf(operand, at).map((part, index) =>
      parseOne(state, part, `${at}[${index}]`, level + 1),
    )
    return { kind: operator === 'and' ? 'all' : 'any', parts }
  }
  if (operator === 'not') return { kind: 'not', part: parseOne(state, operand, at, level + 1) }
  countTerms(state, 1, at)
  return parseTerm(state, operator, operand, at)
}

function parseTerm(state: ParseState, operator: string, operand: unknown, at: string): Term {
  const compare = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined
  if (compare === undefined && !OPERATORS.includes(operator))
    refuse(at, `the operator ${describeFound(operator)}`, `one of ${OPERATORS.join(' ')}`)
  const [name, ...values] = arrayOf(operand, at)
  const column = columnOf(state.scope, name, `${at}[0]`)
  if (operator === 'is_null') {
    expectCount(values, 0, at)
    return { kind: 'is_null', column }
  }
  if (operator === 'intersects' || operator === 'within') {
    expectCount(values, 1, at)
    if (column.srid === null) refuse(`${at}[0]`, `the column ${column.name}`, 'a geometry column')
    return { kind: operator, column, area: readArea(values[0], `${at}[1]`, column.srid) }
  }
  if (column.type.order === null)
    refuse(`${at}[0]`, `the column ${column.name} of a type without order`, 'another column, or is_null')
  if (operator === 'like') return { kind: 'like', column, pattern: readPattern(column, values, at) }
  const readValue = (json: unknown, index: string) => operandOf(state.scope, column, json, `${at}${index}`)
  if (operator === 'in') {
    expectCount(values, 1, at)
    const list = arrayOf(values[0], `${at}[1]`)
    countTerms(state, Math.max(0, list.length - 1), at) // the condition itself counts as one
    return { kind: 'in', column, values: list.map((json, index) => readValue(json, `[1][${index}]`)) }
  }
  if (compare === undefined) {
    expectCount(values, 2, at)
    return { kind: 'between', column, low: readValue(values[0], '[1]'), high: readValue(values[1], '[2]') }
  }
  expectCount(values, 1, at)
  return { kind: 'compare', column, operator: compare, value: readValue(values[0], '[1]') }
}

/** Finds a column by name. Only names of columns pass, so that no other text of a caller reaches a query. */
function columnOf({ columns }: ConditionScope, name: unknown, at: string): TermColumn {
  const column = typeof name === 'string' ? columns.get(name) : undefined
  if (typeof name !== 'string' || column === undefined) {
    const known = candidates(columns.keys(), typeof name === 'string' ? name : undefined)
    refuse(at, describeFound(name), `the name of a column (${known})`)
  }
  if (column.isEncrypted) refuse(at, `the encrypted column ${name}`, 'a column that is not encrypted')
  const { type, isEncrypted, srid } = column
  return { name, type, isEncrypted, srid }
}

/** Converts a value by the column's type. */
function operandOf({ env }: ConditionScope, column: TermColumn, json: unknown, at: string): Operand {
  if (json === null) refuse(at, 'null', `a value for the column ${column.name} (is_null tests for null)`)
  const value = column.type.operand(json, env)
  if (isFault(value)) refuse(at, value.found, `${value.expected} for the column ${column.name}`)
  // no test: operands of every type are values
  if (value === null) throw new Error(`the type ${column.type.dataType} converts a value to null`)
  return value
}

function readArea(json: unknown, path: string, srid: number): PreparedArea {
  const geometry = readGeometryFor(json, srid)
  if (isGeometryFault(geometry)) refuse(`${path}${geometry.path}`, geometry.found, geometry.expected)
  return prepareArea(geometry)
}

function readPattern(column: TermColumn, values: unknown[], at: string): string {
  expectCount(values, 1, at)
  const [pattern] = values
  if (column.type.kind !== 'text' || column.type.lengthUnit !== 'characters')
    refuse(`${at}[0]`, `the column ${column.name}`, 'a text column')
  const { maxPatternChars } = CONDITION_LIMITS
  if (typeof pattern !== 'string' || pattern.length > maxPatternChars)
    refuse(`${at}[1]`, describeFound(pattern), `a pattern of at most ${maxPatternChars} characters`)
  if (/^(?:[^\\]|\\[\s\S])*\\$/.test(pattern))
    refuse(`${at}[1]`, 'a backslash at the end', 'a character after each backslash')
  return pattern
}

/** Counts terms: a list of values is as much work as that many comparisons. */
function countTerms(state: ParseState, count: number, at: string): void {
  state.terms += count
  if (state.terms > CONDITION_LIMITS.maxTerms)
    refuse(at, 'more terms', `at most ${CONDITION_LIMITS.maxTerms} comparisons and listed values`)
}

function expectCount(values: unknown[], count: number, at: string): void {
  if (values.length !== count)
    refuse(at, `${values.length} values after the column`, count === 0 ? 'none' : String(count))
}

function arrayOf(json: unknown, at: string): unknown[] {
  if (!Array.isArray(json)) refuse(at, describeFound(json), 'an array')
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
