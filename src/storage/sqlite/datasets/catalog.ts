import { AppError } from '../../../errors.js'
import type { DatasetColumn } from '../../columns/data-type.js'
import { stateColumn } from '../../columns/state-column.js'
import { type Dataset, type DatasetDefinition, unknownDataset } from '../../datasets/datasets.js'
import { type Db, statement } from '../connection/database.js'
import { createVersionsSql, discardTable, endVersions } from '../versions/history.js'
import { beginTransaction } from '../versions/transactions.js'
import type { VersionedTable } from '../versions/versioned-table.js'
import { createDatasetSql, datasetTables } from './ddl.js'
import { takeLongForm, withoutPrefix } from './name.js'

/** Dataset with its table. */
export interface FoundDataset {
  info: Dataset
  table: VersionedTable
  /** rows that were ever put, deleted ones included */
  rowsGiven: number
  /** a citation names it */
  isCited: boolean
}

/**
 * Creates a dataset. To be called within a transaction.
 *
 * @param id fresh UUID; the table is named after it
 * @throws AppError ALREADY_EXISTS
 */
export function createDataset(
  db: Db,
  definition: DatasetDefinition,
  { id, nowUs }: { id: string; nowUs: number },
): Dataset {
  const { name, columns, keyColumns, usename } = definition
  if (statement(db, 'SELECT 1 FROM dataset WHERE short_form = ?').get(name) !== undefined) {
    const message = `The dataset ${name} already exists`
    throw new AppError('ALREADY_EXISTS', { dataset_name: name }, { message })
  }
  const { longForm, createdAtUs } = takeLongForm(db, name, nowUs)
  const row = {
    short_form: name,
    long_form: longForm,
    created_at_us: createdAtUs,
    usename,
    table_name: `prov_${id.replaceAll('-', '')}`,
    columns: JSON.stringify(columns),
    key_columns: JSON.stringify(keyColumns),
  }
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO dataset (short_form, long_form, created_at_us, usename, table_name, columns, key_columns, last_tx)
     VALUES (@short_form, @long_form, @created_at_us, @usename, @table_name, @columns, @key_columns, @last_tx)`,
  ).run({ ...row, last_tx: beginTransaction(db, createdAtUs) })
  const datasetId = Number(lastInsertRowid)
  const versioned = statement(db, 'INSERT INTO versioned_table (dataset_id) VALUES (?)').run(datasetId)
  const table = versionedDataset({ ...row, dataset_id: datasetId }, Number(versioned.lastInsertRowid))
  for (const sql of [...createDatasetSql(table), ...createVersionsSql(table)]) db.exec(sql)
  return toDataset({ ...row, dataset_id: datasetId })
}

/** Finds a dataset by name, long form or realname, each also with the prefix `ddc:`. */
export function findDataset(db: Db, label: string): FoundDataset | undefined {
  const row = statement<CatalogRow>(
    db,
    `${SELECT} WHERE d.copy_of IS NULL
     AND (d.long_form = @label OR d.short_form = @label OR 'provenance.' || d.table_name = @label)
     ORDER BY d.long_form = @label DESC, d.short_form = @label DESC LIMIT 1`,
  ).get({ label: withoutPrefix(label) })
  return row === undefined ? undefined : found(db, row)
}

/** @throws AppError UNKNOWN_DATASET */
export function requireDataset(db: Db, label: string): FoundDataset {
  const dataset = findDataset(db, label)
  if (dataset === undefined) throw unknownDataset(label)
  return dataset
}

/** Returns every dataset, ordered by name; no copies of citations. */
export function allDatasets(db: Db): FoundDataset[] {
  const rows = statement<CatalogRow>(db, `${SELECT} WHERE d.copy_of IS NULL ORDER BY d.short_form`).all()
  return rows.map((row) => found(db, row))
}

/** Finds a dataset by its id. */
export function findDatasetById(db: Db, datasetId: number): FoundDataset | undefined {
  const row = statement<CatalogRow>(db, `${SELECT} WHERE d.dataset_id = ?`).get(datasetId)
  return row === undefined ? undefined : found(db, row)
}

/**
 * Removes a dataset with its citations. To be called within a transaction; its rows are dropped by the next
 * vacuum.
 */
export function removeDataset(db: Db, { info, table }: FoundDataset): void {
  statement(db, 'DELETE FROM citation WHERE versioned_id = ?').run(table.versionedId)
  endVersions(db, table)
  for (const name of datasetTables(table)) discardTable(db, name)
  statement(db, 'DELETE FROM dataset WHERE dataset_id = ?').run(info.datasetId)
}

/** Row of the catalogue. */
interface DatasetRow {
  dataset_id: number
  short_form: string
  long_form: string
  created_at_us: number
  usename: string
  table_name: string
  columns: string
  key_columns: string
}

type CatalogRow = DatasetRow & { next_row_id: number; versioned_id: number; cited_tx: number }

const SELECT = `SELECT d.dataset_id, d.short_form, d.long_form, d.created_at_us, d.usename, d.table_name, d.columns,
  d.key_columns, d.next_row_id, v.versioned_id, v.cited_tx FROM dataset AS d JOIN versioned_table AS v USING (dataset_id)`

function toDataset(row: DatasetRow): Dataset {
  return {
    datasetId: row.dataset_id,
    shortForm: row.short_form,
    longForm: row.long_form,
    createdAtUs: row.created_at_us,
    usename: row.usename,
    realname: `provenance.${row.table_name}`,
    keyColumns: JSON.parse(row.key_columns),
  }
}

function versionedDataset(row: DatasetRow, versionedId: number): VersionedTable {
  const columns: DatasetColumn[] = JSON.parse(row.columns)
  const keyColumns: string[] = JSON.parse(row.key_columns)
  return {
    versionedId,
    kind: 'dataset',
    name: row.short_form,
    realname: `provenance.${row.table_name}`,
    tableName: row.table_name,
    columns: columns.map(stateColumn),
    keyColumns,
    loader: undefined,
  }
}

/**
 * Cache of parsed catalogue rows: definitions change rarely, calls are many. An entry holds while its columns
 * are the same.
 */
const kept = new WeakMap<
  Db,
  Map<number, { columns: string; dataset: Omit<FoundDataset, 'rowsGiven' | 'isCited'> }>
>()

function found(db: Db, row: CatalogRow): FoundDataset {
  let datasets = kept.get(db)
  if (datasets === undefined) {
    datasets = new Map()
    kept.set(db, datasets)
  }
  const known = datasets.get(row.dataset_id)
  const changing = { rowsGiven: row.next_row_id - 1, isCited: row.cited_tx > 0 }
  if (known?.columns === row.columns) return { ...known.dataset, ...changing }
  const dataset = { info: toDataset(row), table: versionedDataset(row, row.versioned_id) }
  datasets.set(row.dataset_id, { columns: row.columns, dataset })
  return { ...dataset, ...changing }
}
