import type { ThinnedRow } from '../../removal/thin-pass.js'
import type { Rows } from '../connection/database.js'

/** Work on the rows of an interval. */
export interface ThinAction {
  /** columns that it reads */
  readonly columns: readonly string[]
  /** Takes rows in the order of their time; those of an interval may come in several calls. @returns ids of rows to remove */
  take(rows: Rows, thinned: readonly ThinnedRow[], nowUs: bigint): Promise<number[]>
  /** The next rows are of another stretch of time. */
  restart(): void
}
