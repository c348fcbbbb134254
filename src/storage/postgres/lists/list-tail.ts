import { typeOf, type UdtName } from '../../columns/column-types.js'
import { parseCondition } from '../../columns/condition.js'
import type { ListQuery } from '../../columns/list-query.js'
import { parseOrder } from '../../columns/order.js'
import type { Value } from '../connection/database.js'
import { compileCondition, type ListColumn } from './condition-sql.js'

/** Columns that callers may filter and order by: name on the wire → SQL expression and type. */
export type ListFields = Record<string, { sql: string; type: UdtName; isAnyText?: boolean }>

/** SQL text that follows `WHERE`, with all values bound to the parameters of the query. */
interface ListTail {
  readonly sql: string
  readonly values: Value[]
}

/**
 * Compiles condition, order and page of a list. Its text depends on the caller: run it by `once`.
 *
 * @param tieSql column that makes the order total, so that pages neither overlap nor leave rows out
 * @param before values of the parameters that come before, in the text of the caller
 * @throws AppError BAD_CONDITION with the position of the fault
 */
export function listTail(
  fields: ListFields,
  tieSql: string,
  query: ListQuery,
  before: readonly Value[] = [],
): ListTail {
  const columns = new Map(
    Object.entries(fields).map(([name, { type }]) => [
      name,
      { type: typeOf(type), isEncrypted: false, srid: null },
    ]),
  )
  const columnOf = (name: string): ListColumn => {
    const { sql = 'NULL', type = 'text', isAnyText = false } = fields[name] ?? {} // only names in `columns` arrive here
    return { sql, cast: type === 'text' ? 'text' : 'bigint', isAnyText }
  }
  const values = [...before]
  const bind = (value: Value) => `$${values.push(value)}`
  const condition = parseCondition(query.conds, { columns, env: query.env }, '$.conds')
  const where = compileCondition(condition, { columnOf, bind })
  // null is before all values, as in SQLite
  const terms = parseOrder(query.order, columns, '$.order').map(
    ({ column, isDescending }) =>
      `${columnOf(column).sql} ${isDescending ? 'DESC NULLS LAST' : 'NULLS FIRST'}`,
  )
  const page = `LIMIT ${bind(query.limit ?? null)}::bigint OFFSET ${bind(query.offset ?? 0)}::bigint`
  return { sql: `${where} ORDER BY ${[...terms, tieSql].join(', ')} ${page}`, values }
}
