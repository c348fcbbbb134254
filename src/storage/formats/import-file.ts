import { type DatasetColumn, parseDataType } from '../columns/data-type.js'
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

/** Column as `dataset.get_columns` describes it and exported files carry it. */
export interface ColumnText {
  column_name: string
  data_type: string
  nullable: boolean
}

/** Parses descriptions of columns. @throws Error when a type is unknown */
export function parseColumns(texts: readonly ColumnText[]): DatasetColumn[] {
  return texts.map(({ column_name, data_type, nullable }) => {
    // types of loader tables alone: files and rasters are plain bytes in a dataset
    const type = parseDataType(/^(?:file|raster)$/.test(data_type) ? 'bytea' : data_type)
    if (type === undefined) throw new Error(`the column ${column_name} has the unknown type ${data_type}`)
    return { name: column_name, type, isNullable: nullable }
  })
}
