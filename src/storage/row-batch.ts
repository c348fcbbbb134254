import type { StateColumn } from './columns/state-column.js'
import type { PutJob } from './datasets/datasets.js'
import type { Counters, LoaderTable, PutOptions } from './tables.js'
import type { Pause } from './work/pause.js'

/** Writes of one transaction. Errors of records carry their `index` within one call of `put`. */
export interface RowBatch {
  /** @throws AppError UNKNOWN_DATASET */
  dataset(name: string): Promise<DatasetWriter>
  /** @throws AppError UNKNOWN_TABLE */
  table(name: string): Promise<TableWriter>
}

/** Writer of a dataset's records. */
export interface DatasetWriter {
  readonly columns: readonly StateColumn[]
  /** @returns records written. @throws AppError BAD_RECORD, RECORD_EXISTS */
  put(job: Omit<PutJob, 'name'>, pause: Pause): Promise<number>
}

/** Writer of a loader table's records. */
interface TableWriter {
  readonly table: LoaderTable
  /** @throws AppError BAD_RECORD, RECORD_EXISTS */
  put(records: readonly unknown[], options: PutOptions): Promise<Counters>
}

/** Writes to datasets and loader tables that are committed together or not at all. */
export interface RowBatches {
  /**
   * Runs `work` in one transaction, which commits when it resolves. The caller holds the write lock.
   *
   * @throws AppError DISK_FULL, and whatever `work` throws: nothing is written then
   */
  run<T>(work: (batch: RowBatch) => Promise<T>): Promise<T>
}
