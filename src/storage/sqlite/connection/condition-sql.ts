import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Condition, Operand, PatternTest, Term } from '../../columns/condition.js'
import { sortKeySql } from './column-sql.js'

/** SQL of the columns, and the connection's store of areas. */
interface ConditionSql {
  /** Returns the quoted and qualified SQL of a column. */
  sqlOf(name: string): string
  /**
   * Keeps an area for the SQL functions `geo_intersects` and `geo_within`, and returns its handle to bind.
   */
  keepArea(area: PreparedArea): number
  /** largest text or geometry that a function is given; infinite, or absent, for any */
  readonly maxValueBytes?: number
}

/** An SQL expression with the values that are bound in it, in their order. */
interface CompiledCondition {
  readonly sql: string
  readonly params: readonly Operand[]
}

/** Compiles a condition. `1` is the SQL of a condition that every row satisfies. */
export function compileCondition(condition: Condition, scope: ConditionSql): CompiledCondition {
  const params: Operand[] = []
  return { sql: compileOne(condition, scope, params), params }
}

function compileOne(condition: Condition, scope: ConditionSql, params: Operand[]): string {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const parts = [
        ...compilePatterns(condition, scope, params),
        ...condition.parts.filter((part) => !isPattern(part)).map((part) => compileOne(part, scope, params)),
      ]
      return condition.kind === 'all' ? balanced(parts, ' AND ', '1') : balanced(parts, ' OR ', '0')
    }
    case 'not':
      return `NOT (${compileOne(condition.part, scope, params)})`
    default:
      return compileTerm(condition, scope, params)
  }
}

function compileTerm(term: Term, scope: ConditionSql, params: Operand[]): string {
  const { name, type } = term.column
  const sql = scope.sqlOf(name)
  // no test: a column without order is only tested for null or an area
  const key = (text: string) => (type.order === null ? text : sortKeySql(type.order, text))
  const bind = (value: Operand) => {
    params.push(value)
    return key('?')
  }
  switch (term.kind) {
    case 'is_null':
      return `${sql} IS NULL`
    case 'intersects':
    case 'within':
      params.push(BigInt(scope.keepArea(term.area)))
      return `geo_${term.kind}(${limited(name, scope)}, ?)`
    case 'like':
      params.push(JSON.stringify([term.pattern]))
      return `like_all(${limited(name, scope)}, ?)`
    case 'in':
      return `${key(sql)} IN (${term.values.map(bind).join(', ')})`
    case 'between':
      return `${key(sql)} BETWEEN ${bind(term.low)} AND ${bind(term.high)}`
    case 'compare':
      return `${key(sql)} ${term.operator} ${bind(term.value)}`
  }
}

/**
 * Compiles the patterns of one `and` or `or`, those of one column together: a call for each of 900 patterns
 * would cost more than the patterns.
 */
function compilePatterns(
  { kind, parts }: Extract<Condition, { kind: 'all' | 'any' }>,
  scope: ConditionSql,
  params: Operand[],
): string[] {
  const patterns = Map.groupBy(parts.filter(isPattern), ({ column }) => column.name)
  return [...patterns].map(([name, tests]) => {
    params.push(JSON.stringify(tests.map(({ pattern }) => pattern)))
    return `like_${kind}(${limited(name, scope)}, ?)`
  })
}

/** Returns the SQL of a column whose value a function of ours receives: a large one would be copied for it. */
function limited(name: string, { sqlOf, maxValueBytes = Number.POSITIVE_INFINITY }: ConditionSql): string {
  const sql = sqlOf(name)
  if (!Number.isFinite(maxValueBytes)) return sql
  const size = `octet_length(${sql})`
  const text = name.replaceAll("'", "''")
  return `CASE WHEN ${size} > ${maxValueBytes} THEN value_over_limit('${text}', ${size}, ${maxValueBytes}) ELSE ${sql} END`
}

function isPattern(condition: Condition): condition is PatternTest {
  return condition.kind === 'like'
}

/** Joins in a balanced tree: SQLite refuses expressions deeper than 1,000. */
function balanced(parts: readonly string[], joiner: string, whenEmpty: string): string {
  const [only] = parts
  if (only === undefined) return whenEmpty
  if (parts.length === 1) return only
  const middle = parts.length >> 1
  const left = balanced(parts.slice(0, middle), joiner, whenEmpty)
  return `(${left}${joiner}${balanced(parts.slice(middle), joiner, whenEmpty)})`
}
