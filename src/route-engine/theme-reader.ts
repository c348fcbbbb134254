import type { LoaderTable, Span } from '../storage/tables.js'
import type { CellVisitor, TimedCellVisitor } from '../storage/themes.js'

/**
 * Reader of the tables that hold risk themes: the database of a gateway, or what was fetched from that of a hub.
 *
 * Calls are synchronous: a time-dependent search reads the cells of a slot in the middle of its loop, in a
 * thread that has nothing else to do.
 */
export interface ThemeReader {
  /** Runs a function in one read transaction, so that all it reads is of one state of the tables. */
  inSnapshot<T>(work: () => T): T
  /**
   * Runs work that reads the tables of some names. Where rows must be fetched from afar, the work sees one state of
   * all tables, which has all rows acknowledged before, and may be run several times.
   *
   * @param work must not catch what the other functions throw
   * @throws AppError DATABASE_UNAVAILABLE, BUSY, TIME_LIMIT
   */
  withRows<T>(names: readonly string[], work: () => Promise<T>): Promise<T>
  /** Announces instants, ascending, at which cells may be read by this work, µs UTC: they are fetched together. */
  expectInstants(instantsUs: readonly bigint[]): void
  findTable(dataName: string): LoaderTable | undefined
  /** Returns every table, for the message about a theme that none of them holds. */
  listTables(): LoaderTable[]
  /** Returns a number that changes with every write to a table; undefined when the table was dropped. */
  versionOf(table: LoaderTable): number | undefined
  /**
   * Returns the instants at which rows begin or end, ascending, µs UTC; undefined when there are too many.
   */
  changeTimes(table: LoaderTable): bigint[] | undefined
  /** Visits the cells that are valid at an instant, µs UTC. @param levelColumn integer column of levels */
  readCells(table: LoaderTable, levelColumn: string, instantUs: bigint, visit: CellVisitor): void
  /** Visits the cells that are valid at some time of a span. @param levelColumn integer column of levels */
  readTimedCells(table: LoaderTable, levelColumn: string, span: Span, visit: TimedCellVisitor): void
}
