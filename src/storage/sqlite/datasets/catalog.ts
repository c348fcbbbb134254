import { AppError } from '../../../errors.js'
import {
  createVersionsSql,
  type DatasetRow,
  discardTable,
  endVersions,
  type VersionedTable,
  versionedDataset,
} from '../citations/versions.js'
import { type Db, statement } from '../connection/database.js'
import type { DatasetColumn } from './column.js'
import { createDatasetSql, datasetTables } from './ddl.js'
import { takeLongForm, withoutPrefix } from './name.js'

/** A dataset as it is told to callers. */
export interface Dataset {
  datasetId: number
  shortForm: string
  longForm: string
  createdAtUs: number
  usename: string
  realname: string
}

/** What a caller defines; its columns and names have been checked. */
export interface DatasetDefinition {
  name: string
  columns: readonly DatasetColumn[]
  keyColumns: readonly string[]
  usename: string
}

/** A dataset with its table. */
export interface FoundDataset {
  info: Dataset
  table: VersionedTable
  /** rows that were ever put, those that went too */
  rowsGiven: number
}

/**
 * Makes a dataset. Within a transaction.
 *
 * @param id a fresh UUID, the table is named by it
 * @throws AppError ALREADY_EXISTS
 */
export function createDataset(
  db: Db,
  definition: DatasetDefinition,
  { id, nowUs }: { id: string; nowUs: number },
): Dataset {
  const { name, columns, keyColumns, usename } = definition
  if (statement(db, 'SELECT 1 FROM dataset WHERE short_form = ?').get(name) !== undefined)
    throw new AppError(
      'ALREADY_EXISTS',
      { dataset_name: name },
      { message: `There is a dataset ${name} already` },
    )
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

/** By name, long form or realname, each also behind `ddc:`. */
export function findDataset(db: Db, label: string): FoundDataset | undefined {
  const row = statement<CatalogRow>(
    db,
    `${SELECT} WHERE d.long_form = @label OR d.short_form = @label OR 'provenance.' || d.table_name = @label
     ORDER BY d.long_form = @label DESC, d.short_form = @label DESC LIMIT 1`,
  ).get({ label: withoutPrefix(label) })
  return row === undefined ? undefined : found(db, row)
}

/** Every dataset, by name. */
export function allDatasets(db: Db): FoundDataset[] {
  const rows = statement<CatalogRow>(db, `${SELECT} ORDER BY d.short_form`).all()
  return rows.map((row) => found(db, row))
}

/** The table behind an id, with everything that is known of it. */
export function findDatasetById(db: Db, datasetId: number): FoundDataset | undefined {
  const row = statement<CatalogRow>(db, `${SELECT} WHERE d.dataset_id = ?`).get(datasetId)
  return row === undefined ? undefined : found(db, row)
}

/** Removes a dataset whose citations have gone. Within a transaction; its rows go with the next sweep. */
export function removeDataset(db: Db, { info, table }: FoundDataset): void {
  endVersions(db, table)
  for (const name of datasetTables(table)) discardTable(db, name)
  statement(db, 'DELETE FROM dataset WHERE dataset_id = ?').run(info.datasetId)
}

/** A number for the changes that follow in this transaction. */
export function beginTransaction(db: Db, nowUs: number): number {
  return Number(statement(db, 'INSERT INTO row_transaction (at_us) VALUES (?)').run(nowUs).lastInsertRowid)
}

/** The number of the newest transaction. */
export function lastTransaction(db: Db): number {
  return statement<number>(db, 'SELECT max(tx) FROM row_transaction').pluck().get() ?? 0
}

export function toDataset(row: DatasetRow): Dataset {
  return {
    datasetId: row.dataset_id,
    shortForm: row.short_form,
    longForm: row.long_form,
    createdAtUs: row.created_at_us,
    usename: row.usename,
    realname: `provenance.${row.table_name}`,
  }
}

export function unknownDataset(label: string): AppError {
  const message = `No dataset is called ${JSON.stringify(label.slice(0, 100))}`
  return new AppError('UNKNOWN_DATASET', { dataset_name: label.slice(0, 100) }, { message })
}

type CatalogRow = DatasetRow & { next_row_id: number; versioned_id: number }

const SELECT = `SELECT d.dataset_id, d.short_form, d.long_form, d.created_at_us, d.usename, d.table_name, d.columns,
  d.key_columns, d.next_row_id, v.versioned_id FROM dataset AS d JOIN versioned_table AS v USING (dataset_id)`

/** Tables are worked out once for each state of their row: definitions hardly ever change, calls are many. */
const kept = new WeakMap<Db, Map<number, { columns: string; dataset: Omit<FoundDataset, 'rowsGiven'> }>>()

function found(db: Db, row: CatalogRow): FoundDataset {
  let datasets = kept.get(db)
  if (datasets === undefined) {
    datasets = new Map()
    kept.set(db, datasets)
  }
  const known = datasets.get(row.dataset_id)
  const rowsGiven = row.next_row_id - 1
  if (known?.columns === row.columns) return { ...known.dataset, rowsGiven }
  const dataset = { info: toDataset(row), table: versionedDataset(row, row.versioned_id) }
  datasets.set(row.dataset_id, { columns: row.columns, dataset })
  return { ...dataset, rowsGiven }
}
