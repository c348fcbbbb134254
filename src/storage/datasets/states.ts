import type { PreparedArea } from '../../geo/prepared-area.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import type { StateColumn } from '../columns/state-column.js'
import type { LargeReads } from '../work/large-reads.js'
import type { Pause } from '../work/pause.js'

/** Selection and order of the rows of a state. Condition and order are JSON of a caller, not yet checked. */
export interface StateQuery {
  conds?: unknown
  /** a column, `-column` for descending, or an array of those; ties are ordered by row id */
  order?: unknown
  /** columns to read; absent or empty for all */
  columns?: readonly string[] | undefined
  /** matching rows to skip */
  offset?: number | undefined
  /** most rows to read, absent for all */
  limit?: number | undefined
  /** reads rows with larger ids only */
  afterId?: number | undefined
  /** reads rows with smaller ids only */
  beforeId?: number | undefined
  /**
   * reads the last `limit` rows instead of the first, still in ascending order; cannot be combined with an
   * order
   */
  isFromEnd?: boolean | undefined
  /**
   * rows whose geometry in a column intersects an area exactly; `isNullIn` adds the rows without a geometry
   */
  within?: { column: string; area: PreparedArea; isNullIn?: boolean } | undefined
  /**
   * rows whose [start, end) in two columns overlaps this half-open span, µs UTC; a null start or end is
   * unbounded
   */
  span?: { start: string; end: string; fromUs: bigint; untilUs: bigint } | undefined
}

/** Places of a query's parts in the caller's params, for error messages. */
export interface StatePaths {
  readonly conds: string
  readonly order: string
  readonly columns: string
}

/** Stored values of a row: its id, then one value per column of the result. */
export type StateRow = [rowId: bigint, ...values: Stored[]]

/** Columns and pages of a query's result. */
export interface StateResult {
  readonly columns: readonly StateColumn[]
  /** read while they are asked for; writers are not blocked between two pages */
  readonly pages: AsyncGenerator<StateRow[]>
}

/** Conditions under which rows are read. */
export interface ReadOptions {
  readonly env: ValueEnv
  /** most rows of a page */
  readonly pageRows: number
  /** called between steps of a few milliseconds */
  readonly pause: Pause
  /** turns of reads that share the memory of a thread; absent where one read runs alone */
  readonly largeReads?: LargeReads | undefined
  /** ends a wait for such a turn */
  readonly signal?: AbortSignal | undefined
  /** reads the rows of a citation without comparing them with their digests: to compute these */
  readonly isUnchecked?: boolean
  /** absent for those of the `dataset` methods */
  readonly paths?: StatePaths | undefined
}

/** Identity of a state, as exported files and callers name it. */
export interface Citation {
  readonly citationId: number
  readonly shortForm: string
  readonly longForm: string
  readonly datasetName: string
  readonly datasetRealname: string
  /** time of the newest change that the citation sees, µs UTC; never after `createdAtUs` */
  readonly transactionTimeUs: number
  /** µs UTC */
  readonly createdAtUs: number
  /** SHA-256 of the canonical text in hex; null until it is computed */
  readonly checksum: string | null
  /** UUID of the node that made it; null for this gateway */
  readonly origin: string | null
}

/** Rows of a dataset, loader table or citation that can be read. */
export interface RowState {
  readonly kind: 'dataset' | 'loader' | 'citation'
  /** of uncited rows the name stands for the long form, and the time of the lookup for both times */
  readonly info: Citation
  readonly columns: readonly StateColumn[]
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
  /**
   * Reads the rows that match a query, in the order of their ids unless the query gives one.
   *
   * @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column; from `pages` UNKNOWN_CITATION when
   *   the citation was deleted meanwhile, CITATION_DAMAGED when rows do not have their digest, CANCELLED
   */
  read(query: StateQuery, options: ReadOptions): Promise<StateResult>
  /** Counts the rows that match; order, offset and limit are ignored. @throws as `read` */
  count(query: Pick<StateQuery, 'conds'>, options: ReadOptions): Promise<number>
}

/** Name of the column that holds the range of transactions in which a row's version was current. */
export const TRANSACTION_RANGE = '_transaction_range'
