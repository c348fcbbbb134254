import { collateSql, sqlTypeOf } from '../connection/column-sql.js'
import { type Db, forgetStatements, identifier, statement } from '../connection/database.js'
import { ROW_ID } from '../tables/ddl.js'
import { FROM_TX, TO_TX, VERSION_ID, versionNames } from '../tables/version-names.js'
import type { VersionedTable } from './versioned-table.js'

/*
 * Storage of former rows. A table of current rows (a dataset's, or a loader table) has two tables beside it:
 *
 *   …_history  rows before they were overwritten or deleted, each with its range of transactions
 *              [from tx, to tx): a citation of transaction T sees it when from tx <= T < to tx
 *   …_gone     ids and keys of deleted rows that have a history
 *
 * Triggers on the current table fill both, so no writer can forget to. A row that no citation has seen leaves nothing
 * behind: `cited_tx` is the newest cited transaction, and versions that began after it are dropped without a copy.
 *
 * Rows of a dataset carry "from tx" themselves. A loader table is not altered when it is cited: …_since holds the ids
 * of rows that changed afterwards, with their transaction; every other row counts as old as the table.
 */

/** Returns SQL for the transaction in which a current row began, over the alias `c`. */
export function fromTxSql(table: VersionedTable): string {
  if (table.kind === 'dataset') return `c.${FROM_TX}`
  const { since } = versionNames(table)
  return `coalesce((SELECT s.${FROM_TX} FROM ${since} AS s WHERE s.${ROW_ID} = c.${ROW_ID}), 0)`
}

/** Returns the statements that start keeping former rows. To be run within a transaction. */
export function createVersionsSql(table: VersionedTable): string[] {
  const names = versionNames(table)
  const columns = table.columns.map(
    ({ name, type, isEncrypted }) => `${identifier(name)} ${isEncrypted ? 'BLOB' : sqlTypeOf(type)}`,
  )
  const keys = table.keyColumns.map((key) => keyColumnSql(table, key))
  const sql = [
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
  ]
  if (keys.length > 0) {
    const on = table.keyColumns.map(identifier).join(', ')
    sql.push(`CREATE INDEX ${names.goneIndex} ON ${names.gone} (${on})`)
  }
  if (table.kind === 'loader')
    sql.push(
      `CREATE TABLE ${names.since} (${ROW_ID} INTEGER PRIMARY KEY, ${FROM_TX} INTEGER NOT NULL) STRICT`,
    )
  return [...sql, ...triggersSql(table)]
}

/** Returns the statements that make the triggers of a table whose former rows are kept. */
export function triggersSql(table: VersionedTable): string[] {
  return table.kind === 'dataset' ? datasetTriggersSql(table) : loaderTriggersSql(table)
}

/**
 * Stops keeping former rows: drops the triggers, and leaves the tables that they filled to the next vacuum.
 * To be called within a transaction, when no citation names the table any more.
 */
export function endVersions(db: Db, table: VersionedTable): void {
  const names = versionNames(table)
  for (const event of ['update', 'delete'] as const) db.exec(`DROP TRIGGER IF EXISTS ${names.trigger(event)}`)
  const left = [names.history, names.gone]
  if (table.kind === 'loader') left.push(names.since)
  for (const name of left) discardTable(db, name)
  statement(db, 'DELETE FROM versioned_table WHERE versioned_id = ?').run(table.versionedId)
}

/** Leaves a table to the next vacuum, which drops it. @param quoted its quoted name */
export function discardTable(db: Db, quoted: string): void {
  const name = quoted.slice(1, -1).replaceAll('""', '"')
  statement(db, 'INSERT OR IGNORE INTO dropped_table (table_name) VALUES (?)').run(name)
  forgetStatements(db, quoted)
}

/** Copies a row that ends into the history, if a citation has seen it. */
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
 * The loader writes without transaction numbers: the first changed row of a call takes one. A call is
 * recognised by the table's data_version, which every call increases.
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
    `CREATE TRIGGER ${trigger('update')} AFTER UPDATE ON ${current} BEGIN\n  ${body}\nEND`,
    `CREATE TRIGGER ${trigger('delete')} AFTER DELETE ON ${current} BEGIN\n  ${body}\n  ${goneSql(table)}\nEND`,
  ]
}

function keyColumnSql(table: VersionedTable, key: string): string {
  const type = table.columns.find(({ name }) => name === key)?.type
  // no test: the columns of a key are columns of the table
  return `${identifier(key)} ${type === undefined ? 'ANY' : sqlTypeOf(type) + collateSql(type)}`
}
