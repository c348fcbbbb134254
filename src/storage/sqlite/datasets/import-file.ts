import { type DatasetColumn, parseDataType, type StateColumn } from './column.js'

/** A file whose records can be put into a dataset. */
export interface ImportFile {
  /** what the file says of its columns; undefined when it says nothing (CSV, other programs' GeoJSON) */
  readonly columns: readonly DatasetColumn[] | undefined
  readonly keyColumns: readonly string[]
  /** values in the order of the given columns, as `dataset.record.put` takes them; a column that the file lacks is null */
  records(columns: readonly StateColumn[]): AsyncIterable<unknown[]>
  close(): void
}

/** A column as `get_columns` tells it. */
export interface ToldColumn {
  column_name: string
  data_type: string
  nullable: boolean
}

/** @throws Error when there is no such type */
export function columnsOf(told: readonly ToldColumn[]): DatasetColumn[] {
  return told.map(({ column_name, data_type, nullable }) => {
    // what only a loader table has: the bytes of files and rasters are plain bytes here
    const type = parseDataType(/^(?:file|raster)$/.test(data_type) ? 'bytea' : data_type)
    if (type === undefined)
      throw new Error(`the column ${column_name} has the type ${data_type}, which is not known`)
    return { name: column_name, type, isNullable: nullable }
  })
}
