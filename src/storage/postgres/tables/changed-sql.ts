import type { LoaderTable } from '../../tables.js'
import { columnName, rowsName } from './ddl.js'

/** SQL of the node of a row's origin, over the alias `t`. */
export const ORIGIN_SQL = '(SELECT o.node_id FROM row_origin AS o WHERE o.origin_id = t.origin)'
/** SQL of the node that sent a row, over the alias `t`; null for rows of this hub. */
const SENDER_SQL = '(SELECT s.node_id FROM row_origin AS s WHERE s.origin_id = t.sender)'

/** Larger than any id of a row. */
const LAST_ID = '9223372036854775807'

/**
 * Returns SQL that reads the rows that changed after a number, in the order of their last changes: the number, origin,
 * day, version, sender, then the columns. Rows that were never overwritten are found by their ids, the others by the
 * index of changes; one statement sees one state. Ids are looked at up to where a page of overridden rows alone would
 * end: else each page of a table with an old override would read all rows behind it. Bound: the number, most rows.
 *
 * @param origin SQL of the origin
 */
export function changedAfterSql(table: LoaderTable, origin: string): string {
  const columns = selectChanged(table, origin)
  const from = rowsName(table)
  return `SELECT * FROM (
    (SELECT t.row_id AS number, ${columns} FROM ${from} AS t
      WHERE t.row_id > $1::bigint AND t.change IS NULL AND t.row_id <= coalesce(
        (SELECT c.change FROM ${from} AS c WHERE c.change > $1::bigint
          ORDER BY c.change LIMIT 1 OFFSET $2::bigint - 1), ${LAST_ID})
      ORDER BY t.row_id LIMIT $2::bigint)
    UNION ALL
    (SELECT t.change, ${columns} FROM ${from} AS t
      WHERE t.change > $1::bigint ORDER BY t.change LIMIT $2::bigint)
  ) AS changed ORDER BY number LIMIT $2::bigint`
}

/** Returns the list of SQL of a changed row behind its number. */
export function selectChanged(table: LoaderTable, origin: string): string {
  const values = [...table.columns.keys()].map((slot) => `t.${columnName(slot)}`)
  return [`${origin} AS origin`, 't.day', 't.version', `${SENDER_SQL} AS sender`, ...values].join(', ')
}
