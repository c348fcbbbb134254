import type { Encoding } from './encoding.js'
import type { SeparatorName } from './separator.js'

/** A row of a file. */
export interface FileRow {
  /** line of the file, or number of the record, from 1 */
  readonly place: number
  /** values by column: text or null in CSV, JSON values in the other formats */
  readonly values: Readonly<Record<string, unknown>>
  /** GeoJSON geometry; undefined where the format has none beside the columns */
  readonly geometry?: unknown
}

/** Rows of a file with what was found about it. */
export interface RowFile {
  readonly format: 'csv' | 'geojson' | 'lines' | 'gpkg'
  /** what `place` of its rows counts */
  readonly places: 'lines' | 'records'
  /** text formats */
  readonly encoding?: Encoding
  /** CSV */
  readonly separator?: SeparatorName
  /** file of the archive that is read, and all that can be */
  readonly entry?: string
  readonly entries?: readonly string[]
  /** layer of the GeoPackage that is read, and all of them */
  readonly layer?: string
  readonly layers?: readonly string[]
  /**
   * Reads the rows from the beginning, each time it is called.
   *
   * @param onRead called with the share of the file that has been read, 0 to 1
   * @throws FileFault
   */
  batches(onRead?: (share: number) => void): AsyncGenerator<FileRow[]>
}

/** Decisions of the user about a file; what is absent is found out. */
export interface FileChoices {
  readonly encoding?: Encoding
  readonly separator?: SeparatorName
  readonly entry?: string
  readonly layer?: string
}

/** Rows of a batch. */
export const BATCH_ROWS = 2000
