import { AppError } from '../../../errors.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { beginTransaction, findDataset, findDatasetById, lastTransaction } from '../datasets/catalog.js'
import { takeLongForm, withoutPrefix } from '../datasets/name.js'
import { findTable } from '../tables/catalog.js'
import { ROW_ID, tableSql } from '../tables/ddl.js'
import type { TableState } from './plan.js'
import { createVersionsSql, endVersions, type VersionedTable, versionedLoader } from './versions.js'

/** A citation as it is told to callers. */
export interface Citation {
  citationId: number
  shortForm: string
  longForm: string
  datasetName: string
  datasetRealname: string
  /** when the newest change it sees was made; never after `createdAtUs` */
  transactionTimeUs: number
  createdAtUs: number
  /** SHA-256 over the cited rows in hex; null until it is worked out */
  checksum: string | null
}

/** A citation with what reading through it needs. */
export interface FoundCitation {
  info: Citation
  state: TableState
  /** see citation-row-index.ts; null until the checksum is worked out */
  rowIndex: Uint8Array | null
  rowCount: number | null
}

/** What is worked out after a citation was made. */
export interface CitationSums {
  checksum: string
  rowCount: number
  rowIndex: Uint8Array
}

/**
 * Cites the state of a dataset or a loader table as it is committed now. Within a transaction; its cost does not depend on
 * the number of rows.
 *
 * @throws AppError UNKNOWN_DATASET
 */
export function createCitation(db: Db, label: string, source: string, nowUs: number): Citation {
  const cited = findSource(db, source) ?? beginVersions(db, source)
  if (cited === undefined) {
    const message = `No dataset or loader table is called ${JSON.stringify(source.slice(0, 100))}`
    throw new AppError('UNKNOWN_DATASET', { source: source.slice(0, 100) }, { message })
  }
  const { table } = cited
  const { longForm, createdAtUs } = takeLongForm(db, label, nowUs)
  const tx = lastTransaction(db)
  beginTransaction(db, createdAtUs) // later changes that bring no number of their own are later than the citation
  const changedAtUs = lastChangeUs(db, table) ?? createdAtUs
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO citation (short_form, long_form, created_at_us, versioned_id, tx, transaction_time_us, last_row_id, column_count)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    label,
    longForm,
    createdAtUs,
    table.versionedId,
    tx,
    Math.min(changedAtUs, createdAtUs), // the clock may have been set back
    lastRowId(db, table),
    table.columns.length,
  )
  statement(db, 'UPDATE versioned_table SET cited_tx = ? WHERE versioned_id = ?').run(tx, table.versionedId)
  const made = findCitationById(db, Number(lastInsertRowid))
  if (made === undefined) throw new Error('a citation was not found right after it was made')
  return made.info
}

/** By long form, else the newest of a short form. */
export function findCitation(db: Db, label: string): FoundCitation | undefined {
  const plain = withoutPrefix(label)
  const byLongForm = statement<CitationRow>(db, `${SELECT} WHERE c.long_form = ?`).get(plain)
  const newest = `${SELECT} WHERE c.short_form = ? ORDER BY c.citation_id DESC LIMIT 1`
  const row = byLongForm ?? statement<CitationRow>(db, newest).get(plain)
  return row === undefined ? undefined : toFound(db, row)
}

export function findCitationById(db: Db, citationId: number): FoundCitation | undefined {
  const row = statement<CitationRow>(db, `${SELECT} WHERE c.citation_id = ?`).get(citationId)
  return row === undefined ? undefined : toFound(db, row)
}

export function isCitation(db: Db, citationId: number): boolean {
  return statement(db, 'SELECT 1 FROM citation WHERE citation_id = ?').get(citationId) !== undefined
}

/** Every citation, oldest first. */
export function allCitations(db: Db): FoundCitation[] {
  const rows = statement<CitationRow>(db, `${SELECT} ORDER BY c.citation_id`).all()
  return rows.map((row) => toFound(db, row))
}

/**
 * Removes the citation of a long form, or all of a short form. Within a transaction.
 *
 * @returns those removed, oldest first; empty when there was none
 */
export function removeCitations(db: Db, label: string): Citation[] {
  const plain = withoutPrefix(label)
  const byLongForm = statement<number>(db, 'SELECT citation_id FROM citation WHERE long_form = ?').pluck()
  const byShortForm = statement<number>(
    db,
    'SELECT citation_id FROM citation WHERE short_form = ? ORDER BY citation_id',
  ).pluck()
  const ids = byLongForm.all(plain)
  return removeByIds(db, ids.length > 0 ? ids : byShortForm.all(plain))
}

/** Removes every citation of a table. Within a transaction. */
export function removeCitationsOf(db: Db, table: VersionedTable): Citation[] {
  const sql = 'SELECT citation_id FROM citation WHERE versioned_id = ? ORDER BY citation_id'
  return removeByIds(db, statement<number>(db, sql).pluck().all(table.versionedId))
}

/** Citations whose checksum is still to be worked out, oldest first. */
export function pendingCitations(db: Db): number[] {
  const sql = 'SELECT citation_id FROM citation WHERE checksum IS NULL ORDER BY citation_id'
  return statement<number>(db, sql).pluck().all()
}

/** Within a transaction; a citation that has gone meanwhile is left gone. */
export function recordSums(db: Db, citationId: number, sums: CitationSums): void {
  statement(
    db,
    'UPDATE citation SET checksum = ?, row_count = ?, row_index = ? WHERE citation_id = ? AND checksum IS NULL',
  ).run(sums.checksum, sums.rowCount, sums.rowIndex, citationId)
}

/** The versions of a dataset, or of a loader table that is cited already. */
export function findSource(db: Db, source: string): { table: VersionedTable } | undefined {
  const dataset = findDataset(db, source)
  if (dataset !== undefined) return dataset
  const loader = findTable(db, source)
  const versionedId =
    loader === undefined
      ? undefined
      : statement<number>(db, 'SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?')
          .pluck()
          .get(loader.tableId)
  if (loader === undefined || versionedId === undefined) return undefined
  return { table: versionedLoader(loader, versionedId) }
}

/** Every table that keeps versions. */
export function allVersioned(db: Db): VersionedTable[] {
  const rows = statement<{ versioned_id: number; loader_table_id: number | null; dataset_id: number | null }>(
    db,
    'SELECT versioned_id, loader_table_id, dataset_id FROM versioned_table ORDER BY versioned_id',
  ).all()
  return rows.map((row) => tableOf(db, { ...row, long_form: `versioned table ${row.versioned_id}` }))
}

/** From the first citation on a loader table keeps what is overwritten. */
function beginVersions(db: Db, source: string): { table: VersionedTable } | undefined {
  const loader = findTable(db, source)
  if (loader === undefined) return undefined
  const made = statement(db, 'INSERT INTO versioned_table (loader_table_id) VALUES (?)').run(loader.tableId)
  const table = versionedLoader(loader, Number(made.lastInsertRowid))
  for (const sql of createVersionsSql(table)) db.exec(sql)
  return { table }
}

function removeByIds(db: Db, ids: readonly number[]): Citation[] {
  const removed = ids.flatMap((id) => findCitationById(db, id) ?? [])
  for (const { info, state } of removed) {
    statement(db, 'DELETE FROM citation WHERE citation_id = ?').run(info.citationId)
    statement(
      db,
      `UPDATE versioned_table SET cited_tx = (SELECT coalesce(max(tx), 0) FROM citation WHERE versioned_id = @versionedId)
       WHERE versioned_id = @versionedId`,
    ).run({ versionedId: state.table.versionedId })
  }
  const loaders = new Map(
    removed
      .map(({ state }) => state.table)
      .filter((table) => table.kind === 'loader')
      .map((table) => [table.versionedId, table]),
  )
  const isCited = statement(db, 'SELECT 1 FROM citation WHERE versioned_id = ?')
  for (const [versionedId, table] of loaders)
    if (isCited.get(versionedId) === undefined) endVersions(db, table)
  return removed.map(({ info }) => info)
}

function lastRowId(db: Db, table: VersionedTable): number {
  if (table.kind === 'dataset') {
    const sql = 'SELECT next_row_id - 1 FROM dataset WHERE table_name = ?'
    return statement<number>(db, sql).pluck().get(table.tableName) ?? 0
  }
  // one step down the table, however large it is
  return (
    statement<number | null>(db, `SELECT max(${ROW_ID}) FROM ${tableSql(table)}`)
      .pluck()
      .get() ?? 0
  )
}

/** When a table's rows were last changed, µs; undefined when nobody wrote it down. */
function lastChangeUs(db: Db, table: VersionedTable): number | undefined {
  const sql =
    table.kind === 'dataset'
      ? 'SELECT at_us FROM row_transaction WHERE tx = (SELECT last_tx FROM dataset WHERE table_name = ?)'
      : 'SELECT max(at_us) FROM row_transaction WHERE versioned_id = (SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?)'
  const key = table.loader?.tableId ?? table.tableName
  return statement<number | null>(db, sql).pluck().get(key) ?? undefined
}

interface CitationRow {
  citation_id: number
  short_form: string
  long_form: string
  created_at_us: number
  versioned_id: number
  dataset_id: number | null
  loader_table_id: number | null
  tx: number
  transaction_time_us: number
  last_row_id: number
  column_count: number
  checksum: string | null
  row_count: number | null
  row_index: Uint8Array | null
}

const SELECT = `SELECT c.citation_id, c.short_form, c.long_form, c.created_at_us, c.versioned_id, v.dataset_id,
  v.loader_table_id, c.tx, c.transaction_time_us, c.last_row_id, c.column_count, c.checksum, c.row_count, c.row_index
  FROM citation AS c JOIN versioned_table AS v USING (versioned_id)`

function toFound(db: Db, row: CitationRow): FoundCitation {
  const table = tableOf(db, row)
  return {
    info: {
      citationId: row.citation_id,
      shortForm: row.short_form,
      longForm: row.long_form,
      datasetName: table.name,
      datasetRealname: table.realname,
      transactionTimeUs: row.transaction_time_us,
      createdAtUs: row.created_at_us,
      checksum: row.checksum,
    },
    state: {
      table,
      tx: row.tx,
      lastRowId: row.last_row_id,
      columns: table.columns.slice(0, row.column_count),
    },
    rowIndex: row.row_index,
    rowCount: row.row_count,
  }
}

function tableOf(
  db: Db,
  {
    dataset_id,
    loader_table_id,
    versioned_id,
    long_form,
  }: Pick<CitationRow, 'dataset_id' | 'loader_table_id' | 'versioned_id' | 'long_form'>,
): VersionedTable {
  const dataset = dataset_id === null ? undefined : findDatasetById(db, dataset_id)?.table
  const loader = loader_table_id === null ? undefined : findTableById(db, loader_table_id)
  const table = dataset ?? (loader === undefined ? undefined : versionedLoader(loader, versioned_id))
  if (table === undefined) throw new Error(`the table that ${long_form} cites is not in the catalogue`)
  return table
}

function findTableById(db: Db, tableId: number): LoaderTable | undefined {
  const sql = 'SELECT data_name FROM loader_table WHERE table_id = ?'
  const dataName = statement<string>(db, sql).pluck().get(tableId)
  return dataName === undefined ? undefined : findTable(db, dataName)
}
