import { MIN_US } from '../../../datetime.js'
import type { RetainedTable, RetentionRule, RuledTable } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import type { Catalog } from '../tables/catalog.js'
import { AGE_SQL, columnName, rowsName } from '../tables/ddl.js'
import { isOrderedSql } from './age-index.js'
import { slotOfColumn } from './read-rows.js'

/** Returns the size of a stored file, bytes; 0 for a missing one. */
export type SizeOfFile = (digest: string) => Promise<number>

/** Rows of a sample, from each end of a table. */
const SAMPLE_ROWS = 50
/**
 * Bytes of a row besides its values: its head, its entries in the indexes of the id, the key, the place, the span and the age, and
 * pages that are not full.
 */
const ROW_BYTES = 250

interface RuleRow {
  id: number
  rule: string
}

type RetainedRow = RuleRow & {
  rows: number
  removed: number
  thinned: number
  unsent: number
  lastRunUs: number | null
}

const SELECT = `SELECT r.table_id AS id, r.rule, s.last_row - coalesce(s.gone, 0) AS rows, r.removed, r.thinned, r.unsent,
    r.last_run_us AS "lastRunUs"
  FROM loader_retention AS r JOIN loader_state AS s USING (table_id) JOIN loader_table AS t USING (table_id)`

/** Returns the tables with a rule. */
export async function listRules(read: Rows, catalog: Catalog): Promise<RuledTable[]> {
  const found = await read.all<RuleRow>('SELECT table_id AS id, rule FROM loader_retention ORDER BY table_id')
  if (found.length === 0) return []
  const tables = new Map((await catalog.list(read)).map((table) => [table.tableId, table]))
  return found.flatMap(({ id, rule }) => {
    const table = tables.get(id)
    return table === undefined ? [] : [{ table, rule: readRule(rule) }] // none: it was dropped meanwhile
  })
}

/** Reads a stored rule. */
export function readRule(text: string): RetentionRule {
  return JSON.parse(text) as RetentionRule // the store wrote it
}

/** Returns the tables with a rule and what is known of their rows, ordered by name. */
export async function listRetained(
  { read }: PostgresDb,
  catalog: Catalog,
  sizeOfFile: SizeOfFile,
): Promise<RetainedTable[]> {
  const rows = await read.all<RetainedRow>(`${SELECT} ORDER BY t.data_name`)
  const all: RetainedTable[] = []
  for (const row of rows) {
    const found = await toRetained(read, catalog, row, sizeOfFile)
    if (found !== undefined) all.push(found)
  }
  return all
}

/** Returns a table with its rule; undefined for one without. */
export async function findRetained(
  { read }: PostgresDb,
  catalog: Catalog,
  tableId: number,
  sizeOfFile: SizeOfFile,
): Promise<RetainedTable | undefined> {
  const row = await read.get<RetainedRow>(`${SELECT} WHERE r.table_id = $1`, tableId)
  return row === undefined ? undefined : await toRetained(read, catalog, row, sizeOfFile)
}

async function toRetained(
  read: Rows,
  catalog: Catalog,
  { id, rule, ...facts }: RetainedRow,
  sizeOfFile: SizeOfFile,
): Promise<RetainedTable | undefined> {
  const table = await catalog.findById(read, id)
  if (table === undefined) return undefined // no test: it was dropped meanwhile
  const oldestUs = await readOldestUs(read, table)
  return {
    table,
    rule: readRule(rule),
    ...facts,
    oldestUs,
    rowBytes: await rowBytes(read, table, sizeOfFile),
  }
}

/** Returns the time of the oldest row; null for none, and while the table has no index of ages. */
export async function readOldestUs(read: Rows, table: LoaderTable): Promise<number | null> {
  const [ordered] = await read.lists(`SELECT ${isOrderedSql(table)}`, [], 'once')
  if (ordered?.[0] !== 't') return null
  const sql = `SELECT min(${AGE_SQL}) FROM ${rowsName(table)} WHERE ${AGE_SQL} >= ${MIN_US}`
  const [oldest] = await read.lists(sql, [], 'once')
  return oldest?.[0] == null ? null : Number(oldest[0])
}

/** Returns the mean size of a row, of the first and the last rows of a table. */
async function rowBytes(read: Rows, table: LoaderTable, sizeOfFile: SizeOfFile): Promise<number> {
  const slots = [
    ...table.columns.keys(),
    ...table.uniqueColumns.map((name) => slotOfColumn(table, name)), // once more in the index of the key
  ]
  const size = slots.map((slot) => `coalesce(pg_column_size(${columnName(slot)}), 0)`).join(' + ')
  const files = [...table.columns.entries()]
    .filter(([, { file }]) => file !== null)
    .map(([slot]) => columnName(slot))
  const part = (order: string) =>
    `(SELECT ${[size, ...files].join(', ')} FROM ${rowsName(table)} ORDER BY row_id ${order} LIMIT ${SAMPLE_ROWS})`
  const found = await read.lists(`${part('ASC')} UNION ALL ${part('DESC')}`, [], 'once')
  let bytes = 0
  for (const [own, ...digests] of found) {
    bytes += ROW_BYTES + Number(own)
    for (const digest of digests) if (digest !== null) bytes += await sizeOfFile(digest)
  }
  return found.length === 0 ? ROW_BYTES : bytes / found.length
}
