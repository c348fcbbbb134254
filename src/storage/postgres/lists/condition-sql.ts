import type { Condition, Operand, PatternTest, Term } from '../../columns/condition.js'
import { ONE_CHARACTER, storedText } from '../connection/any-text.js'
import type { Value } from '../connection/database.js'

/** SQL of a column. */
export interface ListColumn {
  readonly sql: string
  /** PostgreSQL's type of `sql`, for parameters */
  readonly cast: 'text' | 'bigint'
  /** its text is stored as `storedText` returns it */
  readonly isAnyText: boolean
}

/** Columns of a condition, and its parameters. */
interface ConditionSql {
  columnOf(name: string): ListColumn
  /** Keeps a parameter. @returns its SQL */
  bind(value: Value): string
}

/** Compiles a condition on columns that are no geometries. */
export function compileCondition(condition: Condition, scope: ConditionSql): string {
  switch (condition.kind) {
    case 'all':
      return joined(condition.parts, ' AND ', 'true', scope)
    case 'any':
      return joined(condition.parts, ' OR ', 'false', scope)
    case 'not':
      return `NOT (${compileCondition(condition.part, scope)})`
    default:
      return compileTerm(condition, scope)
  }
}

function joined(parts: readonly Condition[], joiner: string, whenEmpty: string, scope: ConditionSql): string {
  return parts.length === 0
    ? whenEmpty
    : `(${parts.map((part) => compileCondition(part, scope)).join(joiner)})`
}

function compileTerm(term: Term, scope: ConditionSql): string {
  const column = scope.columnOf(term.column.name)
  const { sql } = column
  const bind = (value: Operand) =>
    `${scope.bind(typeof value === 'string' && column.isAnyText ? storedText(value) : value)}::${column.cast}`
  switch (term.kind) {
    case 'is_null':
      return `${sql} IS NULL`
    case 'like':
      return compilePattern(term, column, scope)
    case 'in':
      // a value that is null is in no empty list, and NOT of that is true
      return term.values.length === 0 ? 'false' : `${sql} IN (${term.values.map(bind).join(', ')})`
    case 'between':
      return `${sql} BETWEEN ${bind(term.low)} AND ${bind(term.high)}`
    case 'compare':
      return `${sql} ${term.operator} ${bind(term.value)}`
    default:
      // no test: an area is refused where no column is a geometry
      throw new Error(`found a condition of kind ${term.kind}, expected one without an area`)
  }
}

/** `_` is one character of the text, which may be two of its stored form; `LIKE` would take it for one. */
function compilePattern(
  { pattern }: PatternTest,
  { sql, isAnyText }: ListColumn,
  scope: ConditionSql,
): string {
  if (!isAnyText)
    return pattern.includes('\u0000') ? `${sql} <> ${sql}` : `${sql} LIKE ${scope.bind(pattern)}::text`
  if (!/(?:^|[^\\])(?:\\\\)*_/.test(pattern)) return `${sql} LIKE ${scope.bind(storedText(pattern))}::text`
  let expression = ''
  let isEscaped = false
  for (const point of pattern) {
    if (!isEscaped && point === '\\') {
      isEscaped = true
      continue
    }
    if (isEscaped || (point !== '%' && point !== '_')) expression += literal(storedText(point))
    else expression += point === '%' ? '.*' : ONE_CHARACTER
    isEscaped = false
  }
  // (?s) is not among PostgreSQL's options: `.` matches line ends unless asked otherwise
  return `${sql} ~ ${scope.bind(`^(?:${expression})$`)}::text`
}

function literal(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}-]/g, '\\$&')
}
