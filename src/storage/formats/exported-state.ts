import type { Stored, ValueEnv } from '../columns/column-type.js'
import type { StateColumn } from '../columns/state-column.js'
import type { Citation } from '../datasets/states.js'

/** Rows to write to a file, with what the file says about them. */
export interface ExportedState {
  readonly citation: Citation
  readonly columns: readonly StateColumn[]
  readonly keyColumns: readonly string[]
  readonly env: ValueEnv
  readonly pages: AsyncIterable<ExportRow[]>
}

/** Row to write: encrypted values are plain text, and the bytes of a file replace its digest. */
export interface ExportRow {
  readonly rowId: number
  readonly values: readonly Stored[]
}
