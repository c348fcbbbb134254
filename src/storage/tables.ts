import type { PreparedArea } from '../geo/prepared-area.js'
import type { Geometry } from '../geo/types.js'
import type { Stored, ValueEnv } from './columns/column-type.js'
import type { UdtName } from './columns/column-types.js'
import type { Keyring } from './keyring.js'
import type { LargeReads } from './work/large-reads.js'
import type { NextTurn } from './work/pause.js'

/** A column of a loader table. */
export interface Column {
  readonly name: string
  readonly udtName: UdtName
  readonly isNullable: boolean
  /** text of `column_default` as registered; null for none */
  readonly columnDefault: string | null
  /** longest value: characters of text, bytes of `bytea` and `file`; null for no limit */
  readonly length: number | null
  /** spatial reference system of a geometry column; null for other types */
  readonly srid: number | null
  /** stored encrypted: no condition and no order may use it */
  readonly isEncrypted: boolean
  /** companions of a `file` column; null for other types */
  readonly file: FileColumns | null
}

/** Names of the columns beside a `file` column, and of the property that may carry the path of the file. */
export interface FileColumns {
  readonly nameColumn: string
  readonly typeColumn: string
  readonly prefixIdColumn: string
  readonly pathIdColumn: string
  readonly relativePathProperty: string
}

/** Identity of a table: a table that is dropped and registered again has another id. */
export interface TableRef {
  readonly tableId: number
  readonly dataName: string
}

/** A registered loader table. */
export interface LoaderTable extends TableRef {
  /** `<data_name>_tbl_0` */
  readonly tableName: string
  /** schema shown before `tableName`; `event` unless the definition names another */
  readonly schema: string
  /** `RESERVED_COLUMNS`, then the defined columns in their order */
  readonly columns: readonly Column[]
  readonly columnByName: ReadonlyMap<string, Column>
  readonly uniqueColumns: readonly string[]
}

/** True for the rows of a dataset in the form of a table: their ids are negative. */
export function isDatasetTable({ tableId }: Pick<LoaderTable, 'tableId'>): boolean {
  return tableId < 0
}

/** A table to register. Its names and columns have been checked. */
export interface TableDefinition {
  readonly dataName: string
  readonly schema: string
  /** without the reserved columns */
  readonly columns: readonly Column[]
  readonly uniqueColumns: readonly string[]
}

/** The first columns of every table. */
export const RESERVED_COLUMNS: readonly Column[] = [
  reserved('start_datetime', 'timestamptz', null),
  reserved('end_datetime', 'timestamptz', null),
  reserved('location', 'geometry', 4326),
]

/**
 * Column that reads may name and no record sets: UUID of the node at which a row was first put, empty for
 * this gateway.
 */
export const ORIGIN_COLUMN: Column = { ...reserved('_origin', 'text', null), isNullable: false }

function reserved(name: string, udtName: UdtName, srid: number | null): Column {
  return {
    name,
    udtName,
    isNullable: true,
    columnDefault: null,
    length: null,
    srid,
    isEncrypted: false,
    file: null,
  }
}

/** True for a property of records that carries the path of a file and is not a column. */
export function isPathProperty(table: LoaderTable, name: string): boolean {
  return table.columns.some(({ file }) => file?.relativePathProperty === name)
}

/** Half-open span of time, µs UTC. */
export interface Span {
  readonly fromUs: bigint
  readonly untilUs: bigint
}

/** Rows of a table, and their order. */
export interface TableQuery {
  /**
   * rows whose location intersects it exactly; in WGS 84, whatever the system of the locations. Without it every
   * row matches, also one without a location
   */
  area?: PreparedArea
  /** rows without a location match an area, too */
  isNowhereIn?: boolean
  /** rows whose [start, end) overlaps it; a null start or end of a row is unbounded */
  span?: Span
  /** unchecked condition (contract, section 1) */
  conds?: unknown
  /** unchecked: a column, `-column`, or an array of those; ties are ordered by row id */
  order?: unknown
  /** columns to read; absent or empty for all */
  columns?: readonly string[]
  offset?: number
  limit?: number
  /** rows with a greater id, so that pages neither repeat nor omit rows while others arrive */
  afterId?: number
  /** rows with a smaller id */
  beforeId?: number
  /** the last `limit` rows instead of the first, still in ascending order; not together with `order` */
  isFromEnd?: boolean
}

/** Paths of the parts of a query in the caller's params, for error messages. */
export interface QueryPaths {
  readonly conds: string
  readonly order: string
  readonly columns: string
  /** of the search area; `$.geometry` when absent */
  readonly area?: string
}

/** A row in its JSON form. */
export interface TableRow {
  readonly rowId: number
  /** in WGS 84, unless its system cannot be converted */
  readonly geometry: Geometry | null
  /** JSON values by column name, in column order, without `location` */
  readonly properties: Record<string, unknown>
}

/** A row with the number of its last change in its table, as it is sent to another node. */
export interface ChangedRow {
  /** grows with every put and override in the table; no two rows have the same */
  readonly change: number
  /** UUID of the node at which the row was first put; empty for this gateway */
  readonly origin: string
  /** UTC day of the row's last write at its origin, days since 1970; 0 where it is not known */
  readonly day: number
  /** grows with each write at its origin; 0 where it is not known */
  readonly version: number
  /** UUID of the node that sent it; empty for a row of this gateway */
  readonly sender: string
  /** stored values in column order */
  readonly values: readonly Stored[]
}

/** Reads loader tables in the order in which their rows changed. */
export interface TableChanges {
  /** Returns the number of the last change of a table, 0 for an empty one. */
  last(table: LoaderTable): Promise<number>
  /**
   * Reads the rows that changed after a number, in the order of their last changes, each once and as it is
   * now.
   *
   * @param limit most rows
   */
  after(table: LoaderTable, change: number, limit: number): Promise<ChangedRow[]>
  /**
   * Reads the rows of a condition among the changes after a number.
   *
   * @param limit most rows; with a condition, most changes that are looked at
   * @returns the rows, and the change up to which none is missing
   * @throws AppError BAD_CONDITION, TOO_EXPENSIVE
   */
  matching(
    table: LoaderTable,
    change: number,
    limit: number,
    filter: ChangeFilter,
  ): Promise<{ rows: ChangedRow[]; until: number }>
}

/** Condition on changed rows. */
export interface ChangeFilter {
  /** unchecked condition; null or undefined for every row */
  readonly conds?: unknown
  /** for conditions */
  readonly env: ValueEnv
  /** rows whose last change is `untilChange` or an earlier one must start at or after `fromUs` */
  readonly backlog?: { readonly untilChange: number; readonly fromUs: number } | undefined
}

/** Reads tables. Each call sees the rows and tables that are committed by then, by whatever writer. */
export interface TableReader {
  /** Finds by `data_name`, `table_name` or `schema.table_name`, each also with the prefix `ddc:`. */
  find(name: string): Promise<LoaderTable | undefined>
  /** Returns every table, ordered by `data_name`. */
  list(): Promise<LoaderTable[]>
  /**
   * Returns a number that grows with every call that changes rows of the table; -1 when the table does not
   * exist.
   */
  dataVersion(table: LoaderTable): Promise<number>
  /**
   * Reads the matching rows page by page as they are asked for. Nothing is locked between two pages; a row
   * that changes meanwhile is read as it is then.
   *
   * @param paths for error messages; those of event data when absent
   * @throws AppError BAD_CONDITION, or INVALID_PARAMS for an unknown column, before the first page;
   *   CANCELLED; UNKNOWN_TABLE when the table is dropped meanwhile
   */
  pages(
    table: LoaderTable,
    query: TableQuery,
    signal?: AbortSignal,
    paths?: QueryPaths,
  ): AsyncGenerator<TableRow[]>
  /**
   * Counts the matching rows; order, offset and limit are ignored.
   *
   * @throws AppError BAD_CONDITION, CANCELLED
   */
  count(table: LoaderTable, query: TableQuery, signal?: AbortSignal, paths?: QueryPaths): Promise<number>
}

/** Reads of loader tables that are short enough for the main thread. */
export interface SmallReads {
  /**
   * Reads the matching rows of a loader table, of one state of it.
   *
   * @returns undefined for a read that is not small, or a name that no loader table has
   * @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column
   */
  read(name: string, query: TableQuery): Promise<{ table: LoaderTable; rows: TableRow[] } | undefined>
}

/** Options of a table reader. */
export interface TableReaderOptions {
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** rows of a page */
  readonly pageRows: number
  readonly keyring: Pick<Keyring, 'read'>
  /** Returns the bytes of a stored file, for columns of type `file`. */
  readFile(digest: string): Promise<Uint8Array>
  /** Returns the size of a stored file, 0 for a missing one; absent where files of any size are read. */
  sizeOfFile?(digest: string): Promise<number>
  /** turns of reads that share the memory of a thread; absent where one read runs alone */
  readonly largeReads?: LargeReads
  /** µs UTC, for conditions that use `now()` */
  nowUs(): number
  /** waits for the turn of the next slice of work; absent for a turn of the event loop */
  nextTurn?: NextTurn
}

/** Actions for a record whose key exists. */
export const IF_EXISTS = ['override', 'skip', 'error'] as const
/** Action for a record whose key exists. */
export type IfExists = (typeof IF_EXISTS)[number]

/** Numbers of records of one or more calls. */
export interface Counters {
  readonly upload: number
  /** records whose key was in the table, or came earlier in the call */
  readonly duplicate: number
  readonly insert: number
  readonly update: number
}

/** Everything that reading a record depends on besides its table. */
export interface RecordEnv extends ValueEnv {
  readonly keyring: Keyring
  /** Returns a new path id for a file that comes without one. */
  newPathId(): string
}

/** Options of a call that stores records. */
export interface PutOptions {
  readonly ifExists: IfExists
  /**
   * UUID of the node at which the records were first put; absent or empty for this gateway. Keys of different
   * origins never meet
   */
  readonly origin?: string
  readonly env: RecordEnv
  /** Keeps the bytes of a file and returns their digest; they are on disk when it resolves. */
  putFile(bytes: Uint8Array): Promise<string>
  /**
   * most rows whose index entries this call may rewrite besides its own, about 0.7 µs each; absent for no
   * limit
   */
  readonly maxMergeRows?: number
  /** longest stretch of work between two turns of the event loop, ms; absent for no limit */
  readonly sliceMs?: number
  /** key that asked for the call: owners have turns at the database; absent for the gateway itself */
  readonly owner?: string
  /** Called now and then; throws when nobody waits for the result any longer. */
  throwIfCancelled?(): void
}

/** Result of a call that stored records. */
export interface PutResult {
  readonly counters: Counters
  /** a merge of the table's index is due that was too large for this call: `mergeIndex` does it */
  readonly isMergeDue: boolean
}

/** Records of a call that are read and checked before their transaction begins, as far as memory allows. */
export interface StagedRecords {
  /**
   * Reads and checks on until `isTime` says that it is time for something else. Never throws: `put` meets the
   * fault of a record in its place.
   *
   * @returns true when nothing more is read ahead
   */
  advance(isTime: () => boolean): boolean
  /** Stores all records, as `TableStore.put` does; those that were not read ahead are read meanwhile. Once. */
  put(): Promise<PutResult>
}

/** Address of a stored file within its table. */
export interface FilePlace {
  readonly prefixId: number
  readonly pathId: string
  readonly name: string
}

/** Writes tables, and finds what a write depends on. Writers of one process take turns. */
export interface TableStore {
  /** Finds as `TableReader.find` does. */
  find(name: string): Promise<LoaderTable | undefined>
  /** Returns every table, ordered by `data_name`. */
  list(): Promise<LoaderTable[]>
  /**
   * Creates a table.
   *
   * @param nowUs µs UTC
   * @throws AppError ALREADY_REGISTERED, also for a name that differs in the case of ASCII letters only; BUSY
   */
  register(definition: TableDefinition, nowUs: number): Promise<LoaderTable>
  /**
   * Removes a table with its rows. The bytes of its files remain until the next sweep.
   *
   * @throws AppError UNKNOWN_TABLE, TABLE_CITED while a citation names it, BUSY
   */
  drop(table: TableRef): Promise<void>
  /** Releases what is kept of a table that another thread has dropped. */
  forget(table: LoaderTable): void
  /**
   * Stores records in one transaction: all of them or none.
   *
   * @throws AppError BAD_RECORD (`data`: `{ index, column, reason }`) or RECORD_EXISTS (`data`: `{ index,
   *   unique_columns }`) for the first record that does not fit, `index` counted from 0 in this call;
   *   UNKNOWN_TABLE when the table was dropped meanwhile; BUSY, CANCELLED, DISK_FULL
   */
  put(table: TableRef, records: Iterable<unknown>, options: PutOptions): Promise<PutResult>
  /** Returns how long the last commit of `put` held its thread, ms: a sync of the disk; 0 before the first. */
  commitMs(): number
  /**
   * Begins a call of many records, whose reading is kept out of the transaction: others wait for that.
   *
   * @throws AppError UNKNOWN_TABLE when the table was dropped meanwhile
   */
  stage(table: TableRef, records: Iterable<unknown>, options: PutOptions): StagedRecords
  /**
   * Moves what large calls have written from the log into the file, so that no small commit of another thread
   * has to. Needs no turn.
   *
   * @throws Error of the disk
   */
  moveLog(): void
  /**
   * Does one due merge of a table's index in a transaction of its own.
   *
   * @returns false when none was due, or the table does not exist
   */
  mergeIndex(dataName: string): Promise<boolean>
  /**
   * Runs `work` while no other writer of this process writes: for writes that another thread does.
   *
   * @param owner key that asked for it: owners have turns
   */
  inTurn<T>(work: () => Promise<T>, owner?: string): Promise<T>
  /** Returns the digest of the file stored at a place, the newest row's when several rows have one. */
  findFile(table: LoaderTable, place: FilePlace): Promise<string | undefined>
  /**
   * Runs `work` with the digests of all stored files that a row names, former rows seen by citations
   * included. No record is stored meanwhile, so a file that none of them names can be removed.
   */
  withUsedFiles<T>(work: (used: ReadonlySet<string>) => Promise<T>): Promise<T>
}
