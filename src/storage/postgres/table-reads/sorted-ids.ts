import type { Pause } from '../../work/pause.js'
import type { Rows, TextRow, Value } from '../connection/database.js'
import { rowsName } from '../tables/ddl.js'
import { readStored, valueText } from '../tables/stored-values.js'
import { idsOf, SCAN_IDS } from './ids.js'
import { type QueryPlan, sortColumn, whereSql } from './query.js'

/**
 * Reads the ids of matching rows in the order of the query: nulls are the greatest, ties are ordered by id. A further
 * statement goes on behind the last row of the one before, so that rows that change meanwhile shift no others.
 *
 * @param ids those that match; undefined where the statement decides
 */
export async function* sortedIds(
  { rows, plan, pause }: { readonly rows: Rows; readonly plan: QueryPlan; readonly pause: Pause },
  ids: readonly number[] | undefined,
  most: number,
): AsyncGenerator<number[]> {
  const terms = plan.order.map(({ column, isDescending }) => ({
    ...sortColumn(plan.table, column),
    isDescending,
  }))
  const order = [
    ...terms.map(({ sql, isDescending }) => `${sql}${isDescending ? ' DESC' : ''}`),
    't.row_id',
  ].join(', ')
  const keys = terms.map(({ sql }, at) => `${sql} AS k${at}`)
  const last = [...terms.keys()].map((at) => `(array_agg(k${at}::text ORDER BY n DESC))[1]`)
  let edge: TextRow | undefined
  for (let left = most; left > 0; ) {
    await pause()
    const values: Value[] = ids === undefined ? [...plan.values] : [`{${ids.join(',')}}`]
    const beyond = edge === undefined ? [] : [beyondSql(terms, edge, (value) => `$${values.push(value)}`)]
    const where =
      ids === undefined
        ? whereSql(plan, beyond)
        : whereSql({ where: ['t.row_id = ANY ($1::bigint[])'] }, beyond)
    const count = Math.min(left, SCAN_IDS)
    const sql = `SELECT string_agg(id::text, ',' ORDER BY n), (array_agg(id ORDER BY n DESC))[1], ${last.join(', ')} FROM (
      SELECT t.row_id AS id, ${keys.join(', ')}, row_number() OVER (ORDER BY ${order}) AS n
      FROM ${rowsName(plan.table)} AS t ${where} ORDER BY n LIMIT ${count}) AS page`
    const [answer] = await rows.lists(sql, values, 'once')
    const page = idsOf(answer)
    if (page.length > 0) yield page
    if (page.length < count) return
    edge = answer?.slice(1)
    left -= page.length
  }
}

type SortTerm = ReturnType<typeof sortColumn> & { readonly isDescending: boolean }

/** Returns SQL of the rows behind one. @param edge id and sort keys of that row */
function beyondSql(terms: readonly SortTerm[], edge: TextRow, bind: (value: Value) => string): string {
  const [id, ...keys] = edge
  const bound = terms.map(({ type }, at) => {
    const key = readStored(type, keys[at])
    return key === null ? undefined : `${bind(valueText(type, key))}::${type}`
  })
  const isSame = terms.map(({ sql }, at) =>
    bound[at] === undefined ? `${sql} IS NULL` : `${sql} = ${bound[at]}`,
  )
  const isBehind = terms.map(({ sql, isDescending }, at) => {
    const key = bound[at]
    if (key === undefined) return isDescending ? `${sql} IS NOT NULL` : 'false'
    return isDescending ? `${sql} < ${key}` : `(${sql} > ${key} OR ${sql} IS NULL)`
  })
  const steps = terms.map((_, at) => `(${[...isSame.slice(0, at), isBehind[at]].join(' AND ')})`)
  return `(${[...steps, `(${[...isSame, `t.row_id > ${bind(id ?? null)}::bigint`].join(' AND ')})`].join(' OR ')})`
}
