import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Condition, Operand, Term } from '../../columns/condition.js'
import { timetzSortKey } from '../../columns/time-types.js'
import type { Value } from '../connection/database.js'
import type { SqlType } from '../tables/ddl.js'
import { valueText } from '../tables/stored-values.js'

/** A column in SQL. */
export interface SqlColumn {
  readonly sql: string
  readonly type: SqlType
  /** of a value in another, small table: a term is tested there, once for each value, instead of once for each row */
  readonly elsewhere?: {
    /** the column in that table */
    readonly sql: string
    /** Returns SQL for the rows that refer to one that matches. */
    rows(term: string): string
  }
}

/** Columns of a condition, and its parameters. */
export interface ConditionScope {
  columnOf(name: string): SqlColumn
  /** Keeps a parameter. @returns its SQL */
  bind(value: Value): string
}

/**
 * A condition that SQL cannot decide alone: areas are tested here, by the exact predicates that all engines share. The
 * server answers the rest of it, `at` is the position in the answer.
 */
export type Residual =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Residual[] }
  | { readonly kind: 'not'; readonly part: Residual }
  | { readonly kind: 'sql'; readonly at: number }
  | { readonly kind: 'intersects' | 'within'; readonly at: number; readonly area: PreparedArea }

/** A compiled condition. */
export interface CompiledCondition {
  /** SQL that every matching row satisfies; none for a condition that every row does */
  readonly where: readonly string[]
  /** what is to be tested besides; undefined when `where` decides */
  readonly residual: Residual | undefined
  /** SQL of what `residual` needs: conditions, and geometries */
  readonly outputs: readonly string[]
}

/** Compiles a condition. */
export function compileCondition(condition: Condition, scope: ConditionScope): CompiledCondition {
  const parts = partsOf(condition)
  const outputs: string[] = []
  const residuals = parts.filter(hasArea).map((part) => toResidual(part, scope, outputs))
  return {
    where: parts.filter((part) => !hasArea(part)).map((part) => compileOne(part, scope)),
    residual: residuals.length === 0 ? undefined : { kind: 'all', parts: residuals },
    outputs,
  }
}

/**
 * Decides what is left of a condition, in the logic of three values: null is neither true nor false.
 *
 * @param answers of the server to `outputs`
 */
export function decide(residual: Residual, answers: readonly (string | null | undefined)[]): boolean | null {
  switch (residual.kind) {
    case 'not': {
      const part = decide(residual.part, answers)
      return part === null ? null : !part
    }
    case 'sql': {
      const answer = answers[residual.at]
      return answer === null || answer === undefined ? null : answer === 't'
    }
    case 'intersects':
    case 'within': {
      const hex = answers[residual.at]
      if (hex === null || hex === undefined) return null
      const wkb = Buffer.from(hex.slice(2), 'hex')
      return residual.kind === 'within' ? residual.area.containsWkb(wkb) : residual.area.intersectsWkb(wkb)
    }
    default: {
      // one part that is false decides `all`, one that is true decides `any`
      const decisive = residual.kind === 'any'
      let isUnknown = false
      for (const part of residual.parts) {
        const found = decide(part, answers)
        if (found === decisive) return decisive
        isUnknown ||= found === null
      }
      return isUnknown ? null : !decisive
    }
  }
}

function partsOf(condition: Condition): readonly Condition[] {
  return condition.kind === 'all' ? condition.parts.flatMap(partsOf) : [condition]
}

function hasArea(condition: Condition): boolean {
  if ('parts' in condition) return condition.parts.some(hasArea)
  if (condition.kind === 'not') return hasArea(condition.part)
  return condition.kind === 'intersects' || condition.kind === 'within'
}

function toResidual(condition: Condition, scope: ConditionScope, outputs: string[]): Residual {
  if (!hasArea(condition)) return { kind: 'sql', at: outputs.push(compileOne(condition, scope)) - 1 }
  if ('parts' in condition)
    return { kind: condition.kind, parts: condition.parts.map((part) => toResidual(part, scope, outputs)) }
  if (condition.kind === 'not') return { kind: 'not', part: toResidual(condition.part, scope, outputs) }
  // no test: what has an area and no parts is an area
  if (condition.kind !== 'intersects' && condition.kind !== 'within') throw new Error('expected an area')
  const at = outputs.push(scope.columnOf(condition.column.name).sql) - 1
  return { kind: condition.kind, at, area: condition.area }
}

function compileOne(condition: Condition, scope: ConditionScope): string {
  switch (condition.kind) {
    case 'all':
      return joined(condition.parts, ' AND ', 'true', scope)
    case 'any':
      return joined(condition.parts, ' OR ', 'false', scope)
    case 'not':
      return `NOT (${compileOne(condition.part, scope)})`
    default:
      return compileTerm(condition, scope)
  }
}

function joined(
  parts: readonly Condition[],
  joiner: string,
  whenEmpty: string,
  scope: ConditionScope,
): string {
  return parts.length === 0 ? whenEmpty : `(${parts.map((part) => compileOne(part, scope)).join(joiner)})`
}

function compileTerm(term: Term, scope: ConditionScope): string {
  const { sql, type, elsewhere } = scope.columnOf(term.column.name)
  return elsewhere === undefined
    ? termSql(term, { sql, type }, scope)
    : elsewhere.rows(termSql(term, { sql: elsewhere.sql, type }, scope))
}

function termSql(term: Term, { sql, type }: SqlColumn, scope: ConditionScope): string {
  switch (term.kind) {
    case 'is_null':
      return `${sql} IS NULL`
    case 'like': {
      // no text of PostgreSQL has U+0000, so nothing matches; null stays unknown
      if (term.pattern.includes('\0')) return `${sql} <> ${sql}`
      return `${sql} LIKE ${scope.bind(term.pattern)}::text`
    }
    case 'compare': {
      const { column, operands } = comparable(term, type, sql, [term.value])
      return `${column} ${term.operator} ${operands.map(({ text, cast }) => scope.bind(text) + cast).join('')}`
    }
    case 'between': {
      const { column, operands } = comparable(term, type, sql, [term.low, term.high])
      return `${column} BETWEEN ${operands.map(({ text, cast }) => scope.bind(text) + cast).join(' AND ')}`
    }
    case 'in': {
      // null is in no empty list, and `not` of that is true
      if (term.values.length === 0) return 'false'
      const { column, operands } = comparable(term, type, sql, term.values)
      const [first] = operands
      return `${column} = ANY (${scope.bind(operands.map(({ text }) => text))}${first?.cast}[])`
    }
    default:
      // no test: areas are taken out before
      throw new Error(`found a condition of kind ${term.kind}, expected one without an area`)
  }
}

interface Comparable {
  readonly column: string
  readonly operands: readonly { readonly text: string; readonly cast: string }[]
}

/** Returns a column and values in a form in which SQL compares them as their type does. */
function comparable(
  { column: { type: columnType } }: Term,
  type: SqlType,
  sql: string,
  values: readonly Operand[],
): Comparable {
  const { order } = columnType
  if (order === 'timetz')
    return {
      column: timetzKeySql(sql),
      operands: values.map((value) => ({ text: String(timetzSortKey(String(value))), cast: '::bigint' })),
    }
  if (order === 'trimmed')
    return {
      column: `rtrim(${sql}, ' ')`,
      operands: values.map((value) => ({ text: String(value).replace(/ +$/, ''), cast: '::text' })),
    }
  if (type !== 'bigint' && type !== 'integer' && type !== 'smallint')
    return {
      column: sql,
      operands: values.map((value) => ({ text: valueText(type, value), cast: `::${type}` })),
    }
  // an index serves whole numbers; others, and infinities, are compared as decimals
  const isWhole = values.every(fitsInt8)
  return {
    column: isWhole ? sql : `${sql}::numeric`,
    operands: values.map((value) => ({ text: wholeText(value), cast: isWhole ? '::bigint' : '::numeric' })),
  }
}

const INT8_END = 2n ** 63n

function fitsInt8(value: Operand): boolean {
  if (typeof value === 'bigint') return value >= -INT8_END && value < INT8_END
  return typeof value === 'number' && Number.isSafeInteger(value)
}

function wholeText(value: Operand): string {
  return typeof value === 'number' && Number.isInteger(value) ? String(BigInt(value)) : String(value)
}

/** Returns SQL of `timetzSortKey`: a time zone of PostgreSQL is not as wide as one of a column may be. */
export function timetzKeySql(sql: string): string {
  const clock = `left(${sql}, -6)`
  const us = `(substr(${clock}, 1, 2)::bigint * 3600000000 + substr(${clock}, 4, 2)::bigint * 60000000
    + (substr(${clock}, 7)::numeric * 1000000)::bigint)`
  const zone = `(CASE WHEN left(right(${sql}, 6), 1) = '-' THEN -1 ELSE 1 END
    * (substr(right(${sql}, 6), 2, 2)::integer * 60 + right(${sql}, 2)::integer))`
  return `((${us} - ${zone}::bigint * 60000000) * 4096 + (2048 - ${zone}))`
}
