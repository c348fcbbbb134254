import { typeOf, type UdtName } from '../../columns/column-types.js'
import { parseCondition } from '../../columns/condition.js'
import type { ListQuery } from '../../columns/list-query.js'
import { parseOrder } from '../../columns/order.js'
import { compileCondition } from './condition-sql.js'
import type { Db } from './database.js'

/** Columns that callers may filter and order by: name on the wire → SQL expression and type. */
export type ListFields = Record<string, { sql: string; type: UdtName }>

/** SQL text that follows `WHERE`, with the values bound to its parameters. */
interface ListTail {
  sql: string
  values: unknown[]
}

/**
 * Compiles condition, order and page of a list.
 *
 * @param tieSql column that makes the order total, so that pages neither overlap nor leave rows out
 * @throws AppError BAD_CONDITION with the position of the fault
 */
export function listTail(fields: ListFields, tieSql: string, query: ListQuery): ListTail {
  const columns = new Map(
    Object.entries(fields).map(([name, { type }]) => [
      name,
      { type: typeOf(type), isEncrypted: false, srid: null },
    ]),
  )
  const sqlOf = (name: string) => fields[name]?.sql ?? 'NULL' // no test: only names in `columns` arrive here
  const condition = compileCondition(parseCondition(query.conds, { columns, env: query.env }, '$.conds'), {
    sqlOf,
    keepArea: () => 0, // never called: no column is a geometry
  })
  const terms = parseOrder(query.order, columns, '$.order').map(
    ({ column, isDescending }) => `${sqlOf(column)}${isDescending ? ' DESC' : ''}`,
  )
  return {
    sql: `${condition.sql} ORDER BY ${[...terms, tieSql].join(', ')} LIMIT ? OFFSET ?`,
    values: [...condition.params, query.limit ?? -1, query.offset ?? 0],
  }
}

/**
 * Runs a query whose text depends on the caller. The statement is prepared for this call alone: the number of
 * different texts has no bound, so keeping them would fill the memory.
 */
export function queryOnce<Row>(db: Db, sql: string, values: readonly unknown[]): Row[] {
  return db.prepare<unknown[], Row>(sql).all(...values)
}
