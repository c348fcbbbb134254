/*
 * Batch of a feed, version 1: text of lines, each ended by a line feed, compressed as one zstd frame of level 1 with its
 * checksum.
 *
 *     {"fieldgate_batch":1,"node":…,"feed":…,"table":…,"epoch":…,"digest":…,"after":…,"last":…,"rows":…,"columns":[…],
 *         "days":[[<day>,<rows>],…],"versions":[[<step>,<rows>],…],"sha256":…}
 *     [["<origin>",<rows>],…]
 *     [<value of the first column of each row>,…]
 *     …
 *
 * The second line has the origins of consecutive rows; then each column of `columns` has a line. `sha256` is that of the
 * whole text without the member itself. A batch stands for the changes after `after` up to `last` at the sender: rows that
 * the feed's condition leaves out are not in it. `days` has the UTC days of the last writes of consecutive rows at their
 * origins, since 1970; in a batch without it they are not known,  which is day 0. `versions` has the versions of the rows, which
 * grow with each write at the origin: each pair tells how far the first of some rows is from the number after the version
 * before it (from 0 at first); the others follow in steps of one. In a batch without it they are not known, which is 0.
 */

/**
 * Text up to which a batch is compressed and decompressed at once, in some 0.1 ms: a thread and the events of a stream take
 * 0.1 ms more for a batch of 20 rows, five times of its compression.
 */
export const AT_ONCE_BYTES = 64 * 1024
/** Most bytes of a batch's text, and so of its body. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024
export const MAX_BATCH_ROWS = 10_000
/** Rows of a batch that this program makes: more would hold more memory on both sides, for a tenth of the bytes. */
export const SENT_ROWS = 2500
/** Most columns of a table of SQLite. */
export const MAX_BATCH_COLUMNS = 2000
/** 9999-12-31, days since 1970. */
export const LAST_DAY = 2_932_896
/** Version of the format. */
export const BATCH_VERSION = 1

/** First line of a batch. */
export interface BatchHeader {
  /** UUID of the node that sends */
  readonly node: string
  /** UUID of the feed there */
  readonly feed: string
  /** UUID of the table there */
  readonly table: string
  readonly epoch: number
  /** digest of the definition, as `definitionDigest` */
  readonly digest: string
  readonly after: number
  readonly last: number
  readonly rows: number
  /** names in the order of their lines */
  readonly columns: readonly string[]
  /** days of consecutive rows, with their numbers; absent where they are not known */
  readonly days?: readonly (readonly [day: number, rows: number])[]
  /** versions of consecutive rows, as steps; absent where they are not known */
  readonly versions?: readonly (readonly [step: number, rows: number])[]
}

/** Form of the UUIDs of nodes, feeds and tables. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Form of a SHA-256 in hex. */
export const SHA256 = /^[0-9a-f]{64}$/
