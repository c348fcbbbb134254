import { invalidParams } from '../../../errors.js'
import type { DatasetColumn } from '../../columns/data-type.js'
import type { Dataset } from '../../datasets/datasets.js'
import { requireNew } from '../../records/catalog-row.js'
import { addedColumnSql } from '../connection/column-sql.js'
import { type Db, forgetStatements, oneValue, statement } from '../connection/database.js'
import { versionNames } from '../tables/version-names.js'
import { addVersionColumns } from '../versions/added-columns.js'
import { requireDataset } from './catalog.js'
import { createSpatialSql } from './ddl.js'

/** Most columns of a dataset, as of one that is created. */
const MAX_COLUMNS = 500

/**
 * Adds columns without values to a dataset. To be run in a transaction. The rows stay as they are stored, and citations keep the
 * columns that they have seen.
 *
 * @param columns nullable; their definitions have been checked
 * @throws AppError UNKNOWN_DATASET, INVALID_PARAMS for a name that the dataset has, or for too many columns
 */
export function addDatasetColumns(db: Db, name: string, columns: readonly DatasetColumn[]): Dataset {
  const { info, table } = requireDataset(db, name)
  requireNew(table.columns, columns)
  const count = table.columns.length + columns.length
  if (count > MAX_COLUMNS) {
    const message = `found ${count} columns with those that the dataset has, expected at most ${MAX_COLUMNS}`
    throw invalidParams([{ path: '$.add_columns', message }])
  }
  const sql = 'SELECT columns FROM dataset WHERE dataset_id = ?'
  const stored = JSON.parse(oneValue<string>(db, sql, info.datasetId)) as DatasetColumn[]
  statement(db, 'UPDATE dataset SET columns = ? WHERE dataset_id = ?').run(
    JSON.stringify([...stored, ...columns]),
    info.datasetId,
  )
  const now = requireDataset(db, info.longForm).table
  const { current } = versionNames(now)
  for (const [slot, column] of now.columns.entries()) {
    if (slot < table.columns.length) continue
    db.exec(`ALTER TABLE ${current} ADD COLUMN ${addedColumnSql(column)}`)
    if (column.srid !== null) for (const part of createSpatialSql(now, slot)) db.exec(part)
  }
  addVersionColumns(db, now, columns.length)
  forgetStatements(db, now.tableName)
  return info
}
