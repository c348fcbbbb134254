import type { ListQuery } from '../../columns/list-query.js'
import type { Dataset } from '../../datasets/datasets.js'
import type { Db } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { findDatasetById } from './catalog.js'

const FIELDS: ListFields = {
  id: { sql: 'd.dataset_id', type: 'int8' },
  usename: { sql: 'd.usename', type: 'text' },
  ddc_type: { sql: "'table'", type: 'text' },
  short_form: { sql: 'd.short_form', type: 'text' },
  long_form: { sql: 'd.long_form', type: 'text' },
  realname: { sql: "('provenance.' || d.table_name)", type: 'text' },
  created_at: { sql: 'd.created_at_us', type: 'timestamptz' },
}

/** Returns the datasets that match, by id unless the query gives an order. @throws AppError BAD_CONDITION */
export function listDatasets(db: Db, query: ListQuery): Dataset[] {
  const tail = listTail(FIELDS, 'd.dataset_id', query)
  const sql = `SELECT d.dataset_id AS id FROM (SELECT * FROM dataset WHERE copy_of IS NULL) AS d
    WHERE ${tail.sql}`
  return queryOnce<{ id: number }>(db, sql, tail.values).flatMap(
    ({ id }) => findDatasetById(db, id)?.info ?? [], // no test: nothing is removed between two lines
  )
}
