import type { LoaderTable } from '../../tables.js'
import { type Db, forgetStatements, identifier, statement } from '../connection/database.js'
import type { DatasetColumn, StateColumn } from '../datasets/column.js'
import { stateColumn, stateColumnOfLoader } from '../datasets/column.js'
import { ROW_ID } from '../tables/ddl.js'
import { historyStem } from '../tables/history.js'

/*
 * How rows are kept for citations. A table of current rows (a dataset's, or a loader table) has beside it
 *
 *   …_history  rows as they were before they were overwritten or deleted, each with its range of transactions
 *              [from tx, to tx): a citation of transaction T sees it when from tx <= T < to tx
 *   …_gone     ids and keys of deleted rows that have a history
 *
 * Triggers of the current table fill both, so no writer can forget it. A row that no citation has seen leaves nothing
 * behind: `cited_tx` is the newest transaction that is cited, and what began after it goes without a copy.
 *
 * Rows of a dataset carry "from tx" themselves. A loader table is not touched for being cited: the ids of rows that
 * changed since stand in …_since with their transaction, and every other row is as old as the table.
 */

/** A table whose states can be cited. */
export interface VersionedTable {
  readonly versionedId: number
  readonly kind: 'dataset' | 'loader'
  /** what the dataset or loader table is called */
  readonly name: string
  /** with its schema: `provenance.prov_…`, `event.x_tbl_0` */
  readonly realname: string
  /** SQLite table of the current rows */
  readonly tableName: string
  readonly columns: readonly StateColumn[]
  /** the unique key; empty for none */
  readonly keyColumns: readonly string[]
  /** the loader table, whose spatial index is asked; undefined of datasets */
  readonly loader: LoaderTable | undefined
}

export const FROM_TX = identifier('from tx')
export const TO_TX = identifier('to tx')
export const VERSION_ID = identifier('version id')

/** Quoted names of what belongs to a versioned table. */
export function versionNames(table: Pick<VersionedTable, 'kind' | 'tableName' | 'versionedId'>) {
  const { kind, tableName, versionedId } = table
  const stem = kind === 'dataset' ? tableName : historyStem(tableName, versionedId)
  const named = (suffix: string) => identifier(`${stem}_${suffix}`)
  return {
    current: identifier(table.tableName),
    history: named('history'),
    historyIndex: named('history_row'),
    gone: named('gone'),
    goneIndex: named('gone_key'),
    since: named('since'),
    trigger: (event: string) => identifier(`${stem}_on_${event}`),
    /** R*Trees of a dataset's geometry columns: current rows, and places that rows had before */
    rtree: (slot: number) => identifier(`${stem}_rtree_${slot}`),
    past: (slot: number) => identifier(`${stem}_past_${slot}`),
  }
}

/** Number of the transaction that current rows of a table began in; SQL over the alias `c`. */
export function fromTxSql(table: VersionedTable): string {
  if (table.kind === 'dataset') return `c.${FROM_TX}`
  const { since } = versionNames(table)
  return `coalesce((SELECT s.${FROM_TX} FROM ${since} AS s WHERE s.${ROW_ID} = c.${ROW_ID}), 0)`
}

/** Statements that begin the keeping of versions. Within a transaction. */
export function createVersionsSql(table: VersionedTable): string[] {
  const names = versionNames(table)
  const columns = table.columns.map(
    ({ name, type, isEncrypted }) => `${identifier(name)} ${isEncrypted ? 'BLOB' : type.sqlType}`,
  )
  const keys = table.keyColumns.map((key) => keyColumnSql(table, key))
  return [
    `CREATE TABLE ${names.history} (
  ${VERSION_ID} INTEGER PRIMARY KEY, -- order in which rows were overwritten
  ${ROW_ID} INTEGER NOT NULL,
  ${FROM_TX} INTEGER NOT NULL,
  ${TO_TX} INTEGER NOT NULL, -- seen by citations with "from tx" <= tx < "to tx"
  ${columns.join(',\n  ')}
) STRICT`,
    // the version of a row at a transaction is the first whose end is later: one step down the index
    `CREATE UNIQUE INDEX ${names.historyIndex} ON ${names.history} (${ROW_ID}, ${TO_TX})`,
    `CREATE TABLE ${names.gone} (${[`${ROW_ID} INTEGER PRIMARY KEY`, ...keys].join(', ')}) STRICT`,
    ...(keys.length === 0
      ? []
      : [
          `CREATE INDEX ${names.goneIndex} ON ${names.gone} (${table.keyColumns.map(identifier).join(', ')})`,
        ]),
    ...(table.kind === 'dataset' ? datasetTriggersSql(table) : loaderTriggersSql(table)),
  ]
}

/** What a row leaves behind when its current version ends, if a citation has seen that. */
function keepSql(table: VersionedTable, fromTx: string): string {
  const { history } = versionNames(table)
  const names = table.columns.map(({ name }) => identifier(name))
  return `INSERT INTO ${history} (${[ROW_ID, FROM_TX, TO_TX, ...names].join(', ')})
    SELECT ${[`OLD.${ROW_ID}`, fromTx, LAST_TX, ...names.map((name) => `OLD.${name}`)].join(', ')}
    WHERE ${fromTx} <= (SELECT cited_tx FROM versioned_table WHERE versioned_id = ${table.versionedId});`
}

const LAST_TX = '(SELECT max(tx) FROM row_transaction)'

function goneSql(table: VersionedTable): string {
  const { history, gone } = versionNames(table)
  const names = [ROW_ID, ...table.keyColumns.map(identifier)]
  return `INSERT INTO ${gone} (${names.join(', ')}) SELECT ${names.map((name) => `OLD.${name}`).join(', ')}
    WHERE EXISTS (SELECT 1 FROM ${history} WHERE ${ROW_ID} = OLD.${ROW_ID});`
}

function datasetTriggersSql(table: VersionedTable): string[] {
  const { current, trigger } = versionNames(table)
  const keep = keepSql(table, `OLD.${FROM_TX}`)
  return [
    `CREATE TRIGGER ${trigger('update')} AFTER UPDATE ON ${current} BEGIN\n  ${keep}\nEND`,
    `CREATE TRIGGER ${trigger('delete')} AFTER DELETE ON ${current} BEGIN\n  ${keep}\n  ${goneSql(table)}\nEND`,
  ]
}

/**
 * The loader knows nothing of transactions: the first changed row of a call gives it a number. Calls are told apart by
 * the table's data_version, which grows with each.
 */
function loaderTriggersSql(table: VersionedTable): string[] {
  const { current, since, trigger } = versionNames(table)
  const { versionedId, loader } = table
  const begin = `INSERT INTO row_transaction (at_us, versioned_id, data_version)
    SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER), ${versionedId}, data_version FROM loader_table
    WHERE table_id = ${loader?.tableId} AND NOT EXISTS (SELECT 1 FROM row_transaction AS t
      WHERE t.versioned_id = ${versionedId} AND t.data_version = loader_table.data_version);`
  const fromTx = `coalesce((SELECT ${FROM_TX} FROM ${since} WHERE ${ROW_ID} = OLD.${ROW_ID}), 0)`
  const keep = keepSql(table, fromTx)
  const mark = `INSERT INTO ${since} (${ROW_ID}, ${FROM_TX}) VALUES (OLD.${ROW_ID}, ${LAST_TX})
    ON CONFLICT DO UPDATE SET ${FROM_TX} = excluded.${FROM_TX};`
  const body = [begin, keep, mark].join('\n  ')
  return [
    `CREATE TABLE ${since} (${ROW_ID} INTEGER PRIMARY KEY, ${FROM_TX} INTEGER NOT NULL) STRICT`,
    `CREATE TRIGGER ${trigger('update')} AFTER UPDATE ON ${current} BEGIN\n  ${body}\nEND`,
    `CREATE TRIGGER ${trigger('delete')} AFTER DELETE ON ${current} BEGIN\n  ${body}\n  ${goneSql(table)}\nEND`,
  ]
}

function keyColumnSql(table: VersionedTable, key: string): string {
  const type = table.columns.find(({ name }) => name === key)?.type
  return `${identifier(key)} ${type?.sqlType ?? 'ANY'}${type?.collation === undefined ? '' : ` COLLATE ${type.collation}`}`
}

/**
 * Ends the keeping of versions: the triggers go, what they filled goes with the next sweep. Within a transaction; no
 * citation names the table any more.
 */
export function endVersions(db: Db, table: VersionedTable): void {
  const names = versionNames(table)
  for (const event of ['update', 'delete']) db.exec(`DROP TRIGGER IF EXISTS ${names.trigger(event)}`)
  const left = [names.history, names.gone, ...(table.kind === 'loader' ? [names.since] : [])]
  for (const name of left) discardTable(db, name)
  statement(db, 'DELETE FROM versioned_table WHERE versioned_id = ?').run(table.versionedId)
}

/** Leaves a table to the sweep. @param quoted its quoted name */
export function discardTable(db: Db, quoted: string): void {
  const name = quoted.slice(1, -1).replaceAll('""', '"')
  statement(db, 'INSERT OR IGNORE INTO dropped_table (table_name) VALUES (?)').run(name)
  forgetStatements(db, quoted)
}

/** Row of a dataset in the catalogue. */
export interface DatasetRow {
  dataset_id: number
  short_form: string
  long_form: string
  created_at_us: number
  usename: string
  table_name: string
  columns: string
  key_columns: string
}

/** The dataset's side of versions. */
export function versionedDataset(row: DatasetRow, versionedId: number): VersionedTable {
  return {
    versionedId,
    kind: 'dataset',
    name: row.short_form,
    realname: `provenance.${row.table_name}`,
    tableName: row.table_name,
    columns: (JSON.parse(row.columns) as DatasetColumn[]).map(stateColumn),
    keyColumns: JSON.parse(row.key_columns) as string[],
    loader: undefined,
  }
}

/** The same of a loader table. */
export function versionedLoader(loader: LoaderTable, versionedId: number): VersionedTable {
  return {
    versionedId,
    kind: 'loader',
    name: loader.dataName,
    realname: `${loader.schema}.${loader.tableName}`,
    tableName: loader.tableName,
    columns: loader.columns.map(stateColumnOfLoader),
    keyColumns: loader.uniqueColumns,
    loader,
  }
}
