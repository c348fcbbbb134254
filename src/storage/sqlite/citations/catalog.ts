import { AppError } from '../../../errors.js'
import type { CitationSums, RequireReading } from '../../datasets/citations.js'
import type { Citation } from '../../datasets/states.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, oneValue, statement, writtenRow } from '../connection/database.js'
import { findDataset, findDatasetById, removeDataset } from '../datasets/catalog.js'
import { takeLongForm, withoutPrefix } from '../datasets/name.js'
import { findTable } from '../tables/catalog.js'
import { ROW_ID, tableSql } from '../tables/ddl.js'
import { createVersionsSql, endVersions } from '../versions/history.js'
import { beginTransaction, lastTransaction } from '../versions/transactions.js'
import { type TableState, type VersionedTable, versionedLoader } from '../versions/versioned-table.js'

/** Citation with the facts that reading it needs. */
export interface FoundCitation {
  info: Citation
  state: TableState
  /** see formats/row-index.ts; null until the checksum is computed */
  rowIndex: Uint8Array | null
  /** null until the checksum is computed */
  rowCount: number | null
}

/**
 * Cites the committed state of a dataset or loader table. To be called within a transaction. The cost does
 * not depend on the number of rows.
 *
 * @throws AppError UNKNOWN_DATASET, and what `requireReading` throws
 */
export function createCitation(
  db: Db,
  label: string,
  source: string,
  { nowUs, requireReading }: { nowUs: number; requireReading?: RequireReading | undefined },
): Citation {
  const cited = findSource(db, source) ?? beginVersions(db, source)
  if (cited === undefined) {
    const shown = source.slice(0, 100)
    const message = `No dataset or loader table is named ${JSON.stringify(shown)}`
    throw new AppError('UNKNOWN_DATASET', { source: shown }, { message })
  }
  const { table } = cited
  requireReading?.(table.kind)
  const { longForm, createdAtUs } = takeLongForm(db, label, nowUs)
  const changedAtUs = lastChangeUs(db, table) ?? createdAtUs
  // the clock may have been set back since the change
  const transactionTimeUs = Math.min(changedAtUs, createdAtUs)
  return insertCitation(
    db,
    table,
    { shortForm: label, longForm, createdAtUs, transactionTimeUs },
    createdAtUs,
  )
}

/**
 * Writes the citation of the rows that a table has now. To be called within a transaction.
 *
 * @param nowUs time from which changes count as later than the citation, µs UTC
 */
export function insertCitation(
  db: Db,
  table: VersionedTable,
  names: Pick<Citation, 'shortForm' | 'longForm' | 'createdAtUs' | 'transactionTimeUs'>,
  nowUs: number,
): Citation {
  const { shortForm, longForm, createdAtUs, transactionTimeUs } = names
  const tx = lastTransaction(db)
  beginTransaction(db, nowUs) // changes that take no number of their own now count as later than the citation
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO citation (short_form, long_form, created_at_us, versioned_id, tx, transaction_time_us, last_row_id, column_count)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    ...[shortForm, longForm, createdAtUs, table.versionedId, tx, transactionTimeUs],
    ...[lastRowId(db, table), table.columns.length],
  )
  statement(db, 'UPDATE versioned_table SET cited_tx = ? WHERE versioned_id = ?').run(tx, table.versionedId)
  return writtenRow(findCitationById(db, Number(lastInsertRowid))).info
}

/** Finds a citation by its long form, else the newest of a short form; each also with the prefix `ddc:`. */
export function findCitation(db: Db, label: string): FoundCitation | undefined {
  const plain = withoutPrefix(label)
  const byLongForm = statement<CitationRow>(db, `${SELECT} WHERE c.long_form = ?`).get(plain)
  const newest = `${SELECT} WHERE c.short_form = ? ORDER BY c.citation_id DESC LIMIT 1`
  const row = byLongForm ?? statement<CitationRow>(db, newest).get(plain)
  return row === undefined ? undefined : toFound(db, row)
}

/** Finds a citation by its id. */
export function findCitationById(db: Db, citationId: number): FoundCitation | undefined {
  const row = statement<CitationRow>(db, `${SELECT} WHERE c.citation_id = ?`).get(citationId)
  return row === undefined ? undefined : toFound(db, row)
}

/** Returns whether a citation exists. */
export function isCitation(db: Db, citationId: number): boolean {
  return statement(db, 'SELECT 1 FROM citation WHERE citation_id = ?').get(citationId) !== undefined
}

/** Returns every citation, oldest first. */
export function allCitations(db: Db): FoundCitation[] {
  const rows = statement<CitationRow>(db, `${SELECT} ORDER BY c.citation_id`).all()
  return rows.map((row) => toFound(db, row))
}

/**
 * Removes the citation of a long form, or every citation of a short form. To be called within a transaction.
 *
 * @returns those removed, oldest first; empty when none has the label
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

/** Returns the ids of citations whose checksum or page digests are not computed, oldest first. */
export function pendingCitations(db: Db): number[] {
  const sql =
    'SELECT citation_id FROM citation WHERE checksum IS NULL OR page_digests IS NULL ORDER BY citation_id'
  return statement<number>(db, sql).pluck().all()
}

/**
 * Stores the sums of a citation that has none; does nothing when it was removed. To be called within a
 * transaction.
 */
export function recordSums(db: Db, citationId: number, sums: CitationSums): boolean {
  const { checksum, rowCount, rowIndex, pageDigests } = sums
  const known = statement<string | null>(db, 'SELECT checksum FROM citation WHERE citation_id = ?')
    .pluck()
    .get(citationId)
  if (known === null) {
    statement(
      db,
      `UPDATE citation SET checksum = ?, row_count = ?, row_index = ?, page_digests = ?
       WHERE citation_id = ? AND checksum IS NULL`,
    ).run(checksum, rowCount, rowIndex, pageDigests, citationId)
    return true
  }
  const isSame = known === undefined || known === checksum
  // without digests no page has the right one: rows that have changed are never answered
  statement(db, 'UPDATE citation SET page_digests = ? WHERE citation_id = ? AND page_digests IS NULL').run(
    isSame ? pageDigests : new Uint8Array(0),
    citationId,
  )
  return isSame
}

/** Stored page digests of a citation; null until they are computed. */
export function findPageDigests(db: Db, citationId: number): Uint8Array | null {
  const sql = 'SELECT page_digests FROM citation WHERE citation_id = ?'
  return statement<Uint8Array | null>(db, sql).pluck().get(citationId) ?? null
}

/** Finds a dataset, or a loader table that is cited already. */
function findSource(db: Db, source: string): { table: VersionedTable } | undefined {
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

/** Returns every table whose former rows are kept. */
export function allVersioned(db: Db): VersionedTable[] {
  const rows = statement<{ versioned_id: number; loader_table_id: number | null; dataset_id: number | null }>(
    db,
    'SELECT versioned_id, loader_table_id, dataset_id FROM versioned_table ORDER BY versioned_id',
  ).all()
  return rows.map((row) => tableOf(db, { ...row, long_form: `versioned table ${row.versioned_id}` }))
}

/** Starts keeping the former rows of a loader table, at its first citation. */
function beginVersions(db: Db, source: string): { table: VersionedTable } | undefined {
  const loader = findTable(db, source)
  if (loader === undefined) return undefined
  const made = statement(db, 'INSERT INTO versioned_table (loader_table_id) VALUES (?)').run(loader.tableId)
  const table = versionedLoader(loader, Number(made.lastInsertRowid))
  for (const sql of createVersionsSql(table)) db.exec(sql)
  return { table }
}

function removeByIds(db: Db, ids: readonly number[]): Citation[] {
  const removed = ids.map((id) => writtenRow(findCitationById(db, id))) // read in this transaction
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
  for (const { state } of removed) removeCopy(db, state.table)
  return removed.map(({ info }) => info)
}

/** Removes the rows of a citation of another node; nothing of other tables. */
function removeCopy(db: Db, { tableName }: VersionedTable): void {
  const sql = 'SELECT dataset_id FROM dataset WHERE table_name = ? AND copy_of IS NOT NULL'
  const datasetId = statement<number>(db, sql).pluck().get(tableName)
  if (datasetId !== undefined) removeDataset(db, writtenRow(findDatasetById(db, datasetId)))
}

function lastRowId(db: Db, table: VersionedTable): number {
  if (table.kind === 'dataset') {
    const sql = 'SELECT next_row_id - 1 FROM dataset WHERE table_name = ?'
    return oneValue(db, sql, table.tableName) // the dataset was found in this transaction
  }
  // one descent of the B-tree, whatever its size
  return oneValue(db, `SELECT coalesce(max(${ROW_ID}), 0) FROM ${tableSql(table)}`)
}

/** Returns the time of the last change of a table's rows, µs UTC; undefined when it was not recorded. */
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
  origin_node: string | null
  origin_name: string | null
  origin_realname: string | null
}

const SELECT = `SELECT c.citation_id, c.short_form, c.long_form, c.created_at_us, c.versioned_id, v.dataset_id,
  v.loader_table_id, c.tx, c.transaction_time_us, c.last_row_id, c.column_count, c.checksum, c.row_count, c.row_index,
  c.origin_node, c.origin_name, c.origin_realname
  FROM citation AS c JOIN versioned_table AS v USING (versioned_id)`

function toFound(db: Db, row: CitationRow): FoundCitation {
  const table = tableOf(db, row)
  return {
    info: {
      citationId: row.citation_id,
      shortForm: row.short_form,
      longForm: row.long_form,
      datasetName: row.origin_name ?? table.name,
      datasetRealname: row.origin_realname ?? table.realname,
      transactionTimeUs: row.transaction_time_us,
      createdAtUs: row.created_at_us,
      checksum: row.checksum,
      origin: row.origin_node,
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
  if (table === undefined) throw new Error(`${long_form}: the cited table is not in the catalogue`)
  return table
}

function findTableById(db: Db, tableId: number): LoaderTable | undefined {
  const sql = 'SELECT data_name FROM loader_table WHERE table_id = ?'
  const dataName = statement<string>(db, sql).pluck().get(tableId)
  return dataName === undefined ? undefined : findTable(db, dataName)
}
