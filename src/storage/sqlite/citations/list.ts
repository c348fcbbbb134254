import type { ListQuery } from '../../list-query.js'
import type { Db } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { type Dataset, findDatasetById } from '../datasets/catalog.js'
import { type Citation, findCitationById } from './catalog.js'

const DATASET_FIELDS: ListFields = {
  id: { sql: 'd.dataset_id', type: 'int8' },
  usename: { sql: 'd.usename', type: 'text' },
  ddc_type: { sql: "'table'", type: 'text' },
  short_form: { sql: 'd.short_form', type: 'text' },
  long_form: { sql: 'd.long_form', type: 'text' },
  realname: { sql: "('provenance.' || d.table_name)", type: 'text' },
  created_at: { sql: 'd.created_at_us', type: 'timestamptz' },
}

const CITATION_FIELDS: ListFields = {
  id: { sql: 'c.citation_id', type: 'int8' },
  short_form: { sql: 'c.short_form', type: 'text' },
  long_form: { sql: 'c.long_form', type: 'text' },
  dataset_name: { sql: 'coalesce(d.short_form, l.data_name)', type: 'text' },
  dataset_realname: {
    sql: "coalesce('provenance.' || d.table_name, l.schema || '.' || l.table_name)",
    type: 'text',
  },
  transaction_time: { sql: 'c.transaction_time_us', type: 'timestamptz' },
  created_at: { sql: 'c.created_at_us', type: 'timestamptz' },
  checksum: { sql: 'c.checksum', type: 'text' },
  checksum_state: { sql: "CASE WHEN c.checksum IS NULL THEN 'pending' ELSE 'done' END", type: 'text' },
}

/** Datasets that match, by id unless another order is asked for. @throws AppError BAD_CONDITION */
export function listDatasets(db: Db, query: ListQuery): Dataset[] {
  const tail = listTail(DATASET_FIELDS, 'd.dataset_id', query)
  const rows = queryOnce<{ id: number }>(
    db,
    `SELECT d.dataset_id AS id FROM dataset AS d WHERE ${tail.sql}`,
    tail.values,
  )
  return rows.flatMap(({ id }) => findDatasetById(db, id)?.info ?? [])
}

/** Citations that match, oldest first unless another order is asked for. @throws AppError BAD_CONDITION */
export function listCitations(db: Db, query: ListQuery): Citation[] {
  const tail = listTail(CITATION_FIELDS, 'c.citation_id', query)
  const sql = `SELECT c.citation_id AS id FROM citation AS c JOIN versioned_table AS v USING (versioned_id)
    LEFT JOIN dataset AS d USING (dataset_id) LEFT JOIN loader_table AS l ON l.table_id = v.loader_table_id
    WHERE ${tail.sql}`
  return queryOnce<{ id: number }>(db, sql, tail.values).flatMap(
    ({ id }) => findCitationById(db, id)?.info ?? [],
  )
}
