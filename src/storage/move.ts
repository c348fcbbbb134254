import type { CatalogRow } from './catalog-row.js'
import type { Stored } from './columns/column-type.js'

/** Value of a row of the state of a data directory. */
export type MovedValue = string | number | bigint | Uint8Array | null

/** Rows of one table of a data directory, after those of a key. */
export interface MovedRead {
  readonly table: string
  readonly columns: readonly string[]
  /** columns of the key, which is the order of the rows */
  readonly key: readonly string[]
  /** key of the last row that was read; undefined for none */
  readonly after: readonly MovedValue[] | undefined
  readonly limit: number
}

/** A loader table with the numbers that were given in it. */
export interface MovedTable {
  readonly definition: CatalogRow
  readonly uuid: string
  /** µs UTC */
  readonly createdAtUs: number
  /** base of the versions of the node's own rows */
  readonly versionsFromUs: number
  readonly dataVersion: number
  readonly lastRow: number
  readonly lastChange: number
  /** its rows are counted by origin and day */
  readonly isCounted: boolean
  readonly rows: number
}

/** A row of a loader table as it is stored. */
export interface MovedRow {
  readonly rowId: number
  /** id of `row_origin` */
  readonly originId: number
  /** number of its last change */
  readonly change: number
  readonly day: number
  readonly version: number | null
  /** id of `row_origin` */
  readonly senderId: number | null
  readonly values: readonly Stored[]
}

/** Bytes by digest that rows of a data directory name. */
export interface MovedBytes {
  readonly sha256: string
  /** undefined where no row has it */
  readonly sizeBytes: number | undefined
  /** rows say that the bytes are gone or damaged: they move where they are whole */
  readonly mayLack: boolean
}

/** Kinds of bytes, each in a folder of its own. */
export type MovedKind = 'models' | 'files' | 'fleet'

/** Rows of a data directory that no gateway serves, of one state. They are only read. */
export interface MoveSource {
  /** id of the node; undefined for a directory that was never served */
  readonly nodeId: string | undefined
  /** digest of the key file; undefined where none was noted */
  readonly keyFingerprint: string | undefined
  /** Returns what a hub cannot take: a line for each kind, with its number. */
  behind(): Promise<string[]>
  /** Returns why rows cannot be stored in the other engine: a line for each. */
  faults(): Promise<string[]>
  countOf(table: string): Promise<number>
  read(read: MovedRead): Promise<MovedValue[][]>
  /** Returns the largest id that a table has given, also to a row that is gone. */
  lastId(table: string): Promise<number>
  /** Returns single facts: incarnation of the change numbers, newest time that was recorded, µs UTC. */
  facts(): Promise<{ epoch: number; lastSeenUs: number }>
  /** Returns acts that were not written to the log yet, oldest first. */
  acts(): Promise<{ name: string; atUs: number; event: string }[]>
  tables(): Promise<MovedTable[]>
  /** Returns rows of a table in the order of their ids: at most `limit`, fewer where they are large. */
  tableRows(table: MovedTable, afterId: number, limit: number): Promise<MovedRow[]>
  bytes(kind: MovedKind): Promise<MovedBytes[]>
  close(): void
}
