import type { LoaderTable, TableRef } from '../tables.js'
import type { SenderState } from './feeds.js'
import type { DigestSum } from './row-digest.js'

/** Rows of one origin whose last write there was on one day. */
export interface DaySum {
  /** UUID of the node; empty for this gateway */
  readonly origin: string
  /** UTC day, days since 1970; 0 where it is not known */
  readonly day: number
  /** with the rows that are gone, as far as their digests are known */
  readonly sum: DigestSum
  /** rows that retention has removed */
  readonly removed: number
}

/** Sums of a table as of one state of it. */
export interface TableSums {
  /** number of the last change in the table */
  readonly last: number
  /** false while rows are still to be counted: the sums hold a part of them */
  readonly isWhole: boolean
  /** ordered by origin and day */
  readonly days: readonly DaySum[]
}

/** Sums of a table that another node sends, as of the cursor. */
export interface ReceivedSums extends SenderState, TableSums {
  readonly cursor: number
  readonly table: LoaderTable
}

/** A table whose rows are still to be counted. */
export interface UncountedTable {
  readonly table: LoaderTable
  /** share of the changes that are counted, 0 to 1 */
  readonly share: number
  /** another program has written rows: all are counted again */
  readonly isStale: boolean
}

/**
 * Counts and digests of rows by origin and day, of tables that travel. They are kept with each write. Rows that were stored
 * before, or that another program has written, are counted by `count`, a part at a time.
 */
export interface TableDigests {
  /** Begins to count the rows of a table; of one that is counted already nothing. */
  begin(table: TableRef): Promise<void>
  /** Forgets the sums of a table that is counted: all its rows are to be counted again. */
  restart(table: TableRef): Promise<void>
  /**
   * Counts more rows, if any are left.
   *
   * @param limit most rows
   * @returns true when none is left, or the table is not counted
   */
  count(table: TableRef, limit: number): Promise<boolean>
  /**
   * Reads the sums of one state of a table.
   *
   * @param origins UUIDs, empty for this gateway; null for all
   * @returns undefined for a table that is not counted
   */
  read(table: LoaderTable, origins: readonly string[] | null): Promise<TableSums | undefined>
  /**
   * Reads the sums and the cursor of a feed of another node, of one state.
   *
   * @param origins UUIDs, empty for this gateway
   * @returns undefined for a feed that was not opened, or a table that is not counted
   */
  received(sender: string, feed: string, origins: readonly string[]): Promise<ReceivedSums | undefined>
  /** Returns the rows of a table that retention has removed, whether the table is counted or not. */
  removed(table: LoaderTable): Promise<Pick<DaySum, 'origin' | 'day' | 'removed'>[]>
  /** Returns the counted tables of which rows are left to count. */
  uncounted(): Promise<UncountedTable[]>
}
