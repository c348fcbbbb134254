import type { LoaderTable, TableRef } from './tables.js'

/** Keeps one row per series and interval, or moves the rows of an interval into a summary. */
export interface ThinRule {
  /** rows of this age are thinned, days */
  readonly afterDays: number
  /** s; intervals begin at multiples of it since 1970 UTC */
  readonly intervalS: number
  /** columns whose values name a series; empty for one series */
  readonly by: readonly string[]
  /** row of an interval that stays, or the table into which each interval is summarised */
  readonly to: { readonly keep: 'first' | 'last' } | { readonly into: string }
}

/** Rules for old rows of a table. Null members are no limit. */
export interface RetentionRule {
  /** rows whose end, or start where that is null, is older go */
  readonly ageDays: number | null
  readonly maxRows: number | null
  readonly maxBytes: number | null
  readonly thin: ThinRule | null
  /** removes rows, too, that a feed has not sent */
  readonly dropsUnsent: boolean
}

/** A table with its rule. */
export interface RuledTable {
  readonly table: LoaderTable
  readonly rule: RetentionRule
}

/** A table with its rule, and what is known of its rows. */
export interface RetainedTable extends RuledTable {
  /** rows of the table; rows that other programs write are not in it */
  readonly rows: number
  /** mean size of a row with its files, of a sample */
  readonly rowBytes: number
  /** time by which the age of the oldest row counts, µs UTC; null for none */
  readonly oldestUs: number | null
  /** rows that were removed since the rule was first set, those of thinning included */
  readonly removed: number
  /** those of thinning */
  readonly thinned: number
  /** those that a feed had not sent */
  readonly unsent: number
  /** when rows were removed last, µs UTC; null for never */
  readonly lastRunUs: number | null
}

/** Which rows of a table other nodes have. */
export interface SentRows {
  /** rows whose last change is this one or an earlier one may go; Infinity where no feed waits */
  readonly until: number
  /** changes up to it that a receiver has refused: these rows stay */
  readonly except: ReadonlySet<number>
}

/** Place among the rows of a table in the order of their age. */
export interface AgePlace {
  /** µs UTC; null for rows without a time, which come first */
  readonly atUs: bigint | null
  readonly rowId: number
}

/** One step of a removal: a transaction of some milliseconds. */
export interface RemovalStep {
  readonly nowUs: bigint
  readonly sent: SentRows
  /** most rows that are looked at */
  readonly limit: number
  /** rows that are not sent go, too */
  readonly dropsUnsent: boolean
  /** place after which the step begins; null for the oldest row */
  readonly after: AgePlace | null
}

/** Result of a step. */
export interface RemovalResult {
  readonly removed: number
  /** of these: rows that were not sent */
  readonly dropped: number
  /** rows that should go, and stay because they are not sent yet */
  readonly waiting: number
  /** time that it held the database, ms */
  readonly tookMs: number
  /** place after which the next step begins; null when nothing more is to be done */
  readonly next: AgePlace | null
}

/** State of the last pass over a table. */
export interface PassState {
  readonly removed: number
  /** rows that should go and were not sent yet, as far as it has looked */
  readonly waiting: number
  /** feed that has sent least: its id, and the node or upstream to which it goes; null where no feed waits */
  readonly slowest: { readonly feed: string; readonly to: string } | null
  /** why it ended early; null when it did not */
  readonly fault: string | null
}

/** Part of a rule that names rows by their time. */
export type RemovalReason = 'thin' | 'age'

/** Rules by which rows of loader tables go, and their removal. */
export interface RetentionRows {
  /**
   * Sets the rule of a table, or takes it away. The first rule needs an index of ages: 1 s for a million rows, during which
   * writers of a gateway wait. A hub builds that of a large table afterwards, and nothing goes before.
   *
   * @throws AppError UNKNOWN_TABLE, INVALID_PARAMS for a rule that does not fit the table, DISK_FULL, BUSY
   */
  set(table: TableRef, rule: RetentionRule | null): Promise<void>
  /** Returns the tables with a rule. */
  rules(): Promise<RuledTable[]>
  /**
   * Returns the tables with a rule and what is known of their rows, ordered by name. Cost: 0.5 ms a table on a gateway,
   * some round trips on a hub.
   */
  list(): Promise<RetainedTable[]>
  find(table: TableRef): Promise<RetainedTable | undefined>
  /** Removes some of the rows that a rule names. @returns undefined for a table without such a rule */
  remove(table: TableRef, reason: RemovalReason, step: RemovalStep): Promise<RemovalResult | undefined>
  /** Removes some of the oldest rows of a table, with a rule or without one. @returns undefined for a dropped table */
  removeOldest(table: TableRef, step: RemovalStep): Promise<RemovalResult | undefined>
  /**
   * Removes what rows that are gone have left, once it is much: on a gateway from a part of a table's spatial index, on a hub
   * instants at which no row begins or ends.
   *
   * @returns false when nothing is left to do
   */
  cleanIndex(table: TableRef): Promise<boolean>
}

/** The same of a gateway, whose rows are in one file. */
export interface RetentionStore extends RetentionRows {
  /**
   * Gives pages that hold nothing back to the file system, some at a time.
   *
   * @param keepPages pages that stay, for rows that come
   * @returns pages given back
   */
  shrink(keepPages: number): Promise<number>
  /** Pages of the file, and those that hold nothing; bytes of a page. */
  space(): Promise<{ pages: number; freePages: number; pageBytes: number }>
}
