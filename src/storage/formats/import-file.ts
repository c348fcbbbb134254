import type { DatasetColumn } from '../columns/data-type.js'
import type { StateColumn } from '../columns/state-column.js'

/** File whose records can be written to a dataset. */
export interface ImportFile {
  /** columns that the file describes; undefined when it describes none (CSV, GeoJSON of other programs) */
  readonly columns: readonly DatasetColumn[] | undefined
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
  /**
   * Yields values in the order of the given columns, as `dataset.record.put` takes them; null for columns the
   * file lacks.
   */
  records(columns: readonly StateColumn[]): AsyncIterable<unknown[]>
  close(): void
}
