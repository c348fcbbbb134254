import { MIN_US } from '../../../datetime.js'
import type { RetainedTable, RetentionRule, RuledTable } from '../../retention.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import { type Db, identifier, oneValue, statement } from '../connection/database.js'
import { findTableById } from '../tables/catalog.js'
import { ROW_ID, tableSql } from '../tables/ddl.js'
import { AGE_TIME } from './age-index.js'

/** Returns the size of a stored file, bytes; 0 for a missing one. */
export type SizeOfFile = (digest: string) => Promise<number>

/** Rows of a sample, from each end of a table. */
const SAMPLE_ROWS = 50
/**
 * Bytes of a row besides its values: its head, its entries in the index of the key, in the spatial index and in that of ages,
 * and pages that are not full. Measured with tables of two to twenty columns.
 */
const ROW_BYTES = 110

interface RetainedRow {
  table_id: number
  rule: string
  rows: number
  removed: number
  thinned: number
  unsent: number
  last_run_us: number | null
}

const SELECT = 'SELECT table_id, rule, rows, removed, thinned, unsent, last_run_us FROM loader_retention'

/** Returns the tables with a rule. */
export function listRules(db: Db): RuledTable[] {
  return statement<Pick<RetainedRow, 'table_id' | 'rule'>>(db, 'SELECT table_id, rule FROM loader_retention')
    .all()
    .flatMap(({ table_id: tableId, rule }) => {
      const table = findTableById(db, tableId)
      // no test: a dropped table takes its rule along
      return table === undefined ? [] : [{ table, rule: JSON.parse(rule) as RetentionRule }]
    })
}

/** Returns the tables with a rule and what is known of their rows, ordered by name. */
export async function listRetained(db: Db, sizeOfFile: SizeOfFile): Promise<RetainedTable[]> {
  const sorted = `${SELECT} JOIN loader_table USING (table_id) ORDER BY data_name`
  const rows = statement<RetainedRow>(db, sorted).all()
  const found = await Promise.all(rows.map((row) => toRetained(db, row, sizeOfFile)))
  return found.filter((one) => one !== undefined)
}

/** Returns a table with its rule; undefined for one without. */
export async function findRetained(
  db: Db,
  { tableId }: TableRef,
  sizeOfFile: SizeOfFile,
): Promise<RetainedTable | undefined> {
  const row = statement<RetainedRow>(db, `${SELECT} WHERE table_id = ?`).get(tableId)
  return row === undefined ? undefined : await toRetained(db, row, sizeOfFile)
}

async function toRetained(
  db: Db,
  row: RetainedRow,
  sizeOfFile: SizeOfFile,
): Promise<RetainedTable | undefined> {
  const table = findTableById(db, row.table_id)
  if (table === undefined) return undefined // no test: a dropped table takes its rule along
  const oldest = `SELECT min(${AGE_TIME}) FROM ${tableSql(table)} WHERE ${AGE_TIME} >= ${MIN_US}`
  return {
    table,
    rule: JSON.parse(row.rule) as RetentionRule, // `setRule` wrote it
    ...{ rows: row.rows, removed: row.removed, thinned: row.thinned, unsent: row.unsent },
    oldestUs: oneValue<number | null>(db, oldest),
    lastRunUs: row.last_run_us,
    rowBytes: await rowBytes(db, table, sizeOfFile),
  }
}

/** Returns the mean size of a row, of the first and the last rows of a table. */
async function rowBytes(db: Db, table: LoaderTable, sizeOfFile: SizeOfFile): Promise<number> {
  const name = tableSql(table)
  const sizes = table.columns.map(({ name: column }) => `coalesce(octet_length(${identifier(column)}), 0)`)
  const keys = table.uniqueColumns.map((column) => `coalesce(octet_length(${identifier(column)}), 0)`)
  const files = table.columns
    .filter(({ file }) => file !== null)
    .map(({ name: column }) => identifier(column))
  const fields = [`(${[...sizes, ...keys].join(' + ')})`, ...files]
  const read = (order: string) =>
    statement<[number, ...(string | null)[]]>(
      db,
      `SELECT ${fields.join(', ')} FROM ${name} ORDER BY ${ROW_ID} ${order} LIMIT ${SAMPLE_ROWS}`,
    )
      .raw()
      .all()
  const rows = [...read('ASC'), ...read('DESC')]
  let bytes = 0
  for (const [own, ...digests] of rows) {
    bytes += ROW_BYTES + own
    for (const digest of digests) if (digest !== null) bytes += await sizeOfFile(digest)
  }
  return rows.length === 0 ? ROW_BYTES : bytes / rows.length
}
