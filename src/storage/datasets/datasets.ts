import { AppError } from '../../errors.js'
import type { DatasetColumn } from '../columns/data-type.js'
import type { ListQuery } from '../columns/list-query.js'
import type { Pause } from '../work/pause.js'
import type { RowState } from './states.js'

/** Dataset as callers see it. */
export interface Dataset {
  readonly datasetId: number
  readonly shortForm: string
  readonly longForm: string
  /** µs UTC */
  readonly createdAtUs: number
  /** name of the key that created it */
  readonly usename: string
  /** name with its schema: `provenance.prov_…` */
  readonly realname: string
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
}

/** Dataset to create; its names and columns have been checked. */
export interface DatasetDefinition {
  readonly name: string
  readonly columns: readonly DatasetColumn[]
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
  readonly usename: string
}

/** Actions for a record whose key exists. */
export const ON_CONFLICT = ['error', 'update', 'nothing'] as const
export type OnConflict = (typeof ON_CONFLICT)[number]

/** Facts that every change of rows depends on. Plain data: another thread may do the work. */
interface RowJob {
  readonly name: string
  /** time of the call, µs UTC */
  readonly nowUs: number
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
}

/** Records to write. */
export interface PutJob extends RowJob {
  /** values in the order of the columns */
  readonly records: readonly (readonly unknown[])[]
  readonly onConflict: OnConflict
}

/** Records to delete. */
export interface DeleteJob extends RowJob {
  /** condition of a caller, not yet checked; undefined for every record */
  readonly condition: unknown
}

/** Current rows of a dataset. */
interface DatasetRows extends RowState {
  readonly kind: 'dataset'
  /** rows that were ever put, deleted ones included: a bound of its size */
  readonly rowsGiven: number
  /** true where a citation may see rows: a deletion copies those */
  readonly isCited: boolean
}

/** Datasets and their rows. A result that is returned is committed. */
export interface DatasetStore {
  /**
   * @param identity.id fresh UUID; the table is named after it
   * @param identity.nowUs called within the transaction, µs UTC
   * @throws AppError ALREADY_EXISTS
   */
  create(definition: DatasetDefinition, identity: { id: string; nowUs(): number }): Promise<Dataset>
  /**
   * Adds columns without values.
   *
   * @param columns nullable; checked
   * @throws AppError UNKNOWN_DATASET, INVALID_PARAMS for a name that the dataset has, or for too many
   */
  addColumns(name: string, columns: readonly DatasetColumn[]): Promise<Dataset>
  /** Removes a dataset with its rows and citations. @throws AppError UNKNOWN_DATASET */
  remove(name: string): Promise<Dataset>
  /** Lists datasets that match, by id unless the query gives an order. @throws AppError BAD_CONDITION */
  list(query: ListQuery): Promise<Dataset[]>
  /**
   * Finds a dataset by name, long form or realname, each also with the prefix `ddc:`.
   *
   * @param nowUs see `RowState.info`
   */
  find(label: string, nowUs: number): Promise<DatasetRows | undefined>
  /**
   * Writes records in one transaction. The caller holds the write lock.
   *
   * @param pause called between records
   * @returns records written
   * @throws AppError UNKNOWN_DATASET, BAD_RECORD and RECORD_EXISTS with the `index` of the record, CANCELLED:
   *   nothing is stored then
   */
  put(job: PutJob, pause: Pause): Promise<number>
  /**
   * Deletes the records that match in one transaction. The caller holds the write lock.
   *
   * @returns records deleted
   * @throws AppError UNKNOWN_DATASET, BAD_CONDITION, CANCELLED: nothing is deleted then
   */
  deleteRecords(job: DeleteJob, pause: Pause): Promise<number>
}

/** Returns the error for a label that names no dataset. */
export function unknownDataset(label: string): AppError {
  const shown = label.slice(0, 100)
  const message = `No dataset is named ${JSON.stringify(shown)}`
  return new AppError('UNKNOWN_DATASET', { dataset_name: shown }, { message })
}
