import { randomUUID } from 'node:crypto'
import { AppError } from '../../../errors.js'
import type { CatalogRow } from '../../catalog-row.js'
import { alreadyRegistered, tableNameOf, toTable } from '../../records/catalog-row.js'
import type { LoaderTable, TableDefinition } from '../../tables.js'
import { type Db, forgetStatements, statement } from '../connection/database.js'
import { createTableSql, dropTableSql } from './ddl.js'

/**
 * Creates a table. To be run in a transaction.
 *
 * @param nowUs µs UTC
 * @throws AppError ALREADY_REGISTERED, also for a name that differs in the case of ASCII letters only
 */
export function registerTable(db: Db, definition: TableDefinition, nowUs: number): LoaderTable {
  const { dataName, schema, columns, uniqueColumns } = definition
  const tableName = tableNameOf(dataName)
  const taken = statement<{ data_name: string }>(
    db,
    'SELECT data_name FROM loader_table WHERE table_name = ?',
  )
  const other = taken.get(tableName)?.data_name
  if (other !== undefined) throw alreadyRegistered(dataName, other)
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO loader_table (data_name, table_name, schema, columns, unique_columns, created_at_us,
       table_uuid) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    ...[dataName, tableName, schema, JSON.stringify(columns), JSON.stringify(uniqueColumns), nowUs],
    randomUUID(),
  )
  const table = toTable({
    table_id: Number(lastInsertRowid),
    data_name: dataName,
    table_name: tableName,
    schema,
    columns: JSON.stringify(columns),
    unique_columns: JSON.stringify(uniqueColumns),
  })
  for (const sql of createTableSql(table)) db.exec(sql)
  return table
}

/** Finds a table by `data_name`, `table_name` or `schema.table_name`, each also with the prefix `ddc:`. */
export function findTable(db: Db, name: string): LoaderTable | undefined {
  const plain = name.startsWith('ddc:') ? name.slice('ddc:'.length) : name
  const row =
    statement<CatalogRow>(db, `${SELECT} WHERE data_name = ?`).get(plain) ??
    statement<CatalogRow>(db, `${SELECT} WHERE table_name = ? COLLATE BINARY`).get(plain) ??
    statement<CatalogRow>(db, `${SELECT} WHERE schema || '.' || table_name = ?`).get(plain)
  return row === undefined ? undefined : cachedTable(db, row)
}

/** Finds a table by its id. */
export function findTableById(db: Db, tableId: number): LoaderTable | undefined {
  const row = statement<CatalogRow>(db, `${SELECT} WHERE table_id = ?`).get(tableId)
  return row === undefined ? undefined : cachedTable(db, row)
}

/** Returns the UUID by which other nodes name a table; undefined when the table was dropped. */
export function tableUuidOf(db: Db, { tableId }: Pick<LoaderTable, 'tableId'>): string | undefined {
  return statement<string>(db, 'SELECT table_uuid FROM loader_table WHERE table_id = ?').pluck().get(tableId)
}

/** Returns every table, ordered by `data_name`. */
export function listTables(db: Db): LoaderTable[] {
  const rows = statement<CatalogRow>(db, `${SELECT} ORDER BY data_name`).all()
  return rows.map((row) => cachedTable(db, row))
}

/**
 * Removes a table and its rows. To be run in a transaction. The bytes of its files remain until the next
 * sweep.
 *
 * @throws AppError TABLE_CITED while a citation names the table
 */
export function dropTable(db: Db, table: LoaderTable): void {
  const citations = citationsOf(db, table)
  if (citations.length > 0) {
    const message = `Found citations of ${table.dataName}: ${citations.join(', ')}; delete them first`
    throw new AppError('TABLE_CITED', { data_name: table.dataName, citations }, { message })
  }
  for (const sql of dropTableSql(table)) db.exec(sql)
  statement(db, 'DELETE FROM loader_segment WHERE table_id = ?').run(table.tableId)
  statement(db, 'DELETE FROM loader_table WHERE table_id = ?').run(table.tableId)
  forgetStatements(db, table.tableName)
}

/** Returns the long forms of the first hundred citations that name a table. */
function citationsOf(db: Db, table: LoaderTable): string[] {
  return statement<string>(
    db,
    `SELECT c.long_form FROM citation AS c JOIN versioned_table AS v USING (versioned_id)
     WHERE v.loader_table_id = ? ORDER BY c.citation_id LIMIT 100`,
  )
    .pluck()
    .all(table.tableId)
}

/**
 * Returns a number that grows with every call that changes rows of the table; undefined when the table does
 * not exist.
 */
export function dataVersionOf(db: Db, table: LoaderTable): number | undefined {
  return statement<{ data_version: number }>(
    db,
    'SELECT data_version FROM loader_table WHERE table_id = ?',
  ).get(table.tableId)?.data_version
}

/** Increments the number that `dataVersionOf` returns. */
export function bumpDataVersion(db: Db, table: LoaderTable): void {
  statement(db, 'UPDATE loader_table SET data_version = data_version + 1 WHERE table_id = ?').run(
    table.tableId,
  )
}

const SELECT = 'SELECT table_id, data_name, table_name, schema, columns, unique_columns FROM loader_table'

/** Parsed definitions by table id, which is never used again. One holds while its columns are the same. */
const cache = new WeakMap<Db, Map<number, { columns: string; table: LoaderTable }>>()

function cachedTable(db: Db, row: CatalogRow): LoaderTable {
  let tables = cache.get(db)
  if (tables === undefined) {
    tables = new Map()
    cache.set(db, tables)
  }
  const known = tables.get(row.table_id)
  if (known?.columns === row.columns && known.table.dataName === row.data_name) return known.table
  const table = toTable(row)
  tables.set(row.table_id, { columns: row.columns, table })
  return table
}
