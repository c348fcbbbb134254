import type { ListQuery } from '../../columns/list-query.js'
import type { Citation } from '../../datasets/states.js'
import type { Db } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { findCitationById } from './catalog.js'

const FIELDS: ListFields = {
  id: { sql: 'c.citation_id', type: 'int8' },
  short_form: { sql: 'c.short_form', type: 'text' },
  long_form: { sql: 'c.long_form', type: 'text' },
  dataset_name: { sql: 'coalesce(c.origin_name, d.short_form, l.data_name)', type: 'text' },
  dataset_realname: {
    sql: "coalesce(c.origin_realname, 'provenance.' || d.table_name, l.schema || '.' || l.table_name)",
    type: 'text',
  },
  transaction_time: { sql: 'c.transaction_time_us', type: 'timestamptz' },
  created_at: { sql: 'c.created_at_us', type: 'timestamptz' },
  checksum: { sql: 'c.checksum', type: 'text' },
  origin: { sql: 'c.origin_node', type: 'text' },
  checksum_state: { sql: "CASE WHEN c.checksum IS NULL THEN 'pending' ELSE 'done' END", type: 'text' },
}

/**
 * Returns the citations that match, oldest first unless the query gives an order.
 *
 * @throws AppError BAD_CONDITION
 */
export function listCitations(db: Db, query: ListQuery): Citation[] {
  const tail = listTail(FIELDS, 'c.citation_id', query)
  const sql = `SELECT c.citation_id AS id FROM citation AS c JOIN versioned_table AS v USING (versioned_id)
    LEFT JOIN dataset AS d USING (dataset_id) LEFT JOIN loader_table AS l ON l.table_id = v.loader_table_id
    WHERE ${tail.sql}`
  return queryOnce<{ id: number }>(db, sql, tail.values).flatMap(
    ({ id }) => findCitationById(db, id)?.info ?? [], // no test: nothing is removed between two lines
  )
}
