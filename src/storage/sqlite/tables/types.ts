import type { PreparedArea } from '../../../geo/prepared-area.js'
import type { Geometry } from '../../../geo/types.js'
import type { UdtName } from '../../columns/column-types.js'
import type { QueryPaths } from './query.js'

/** A column of a loader table. */
export interface Column {
  readonly name: string
  readonly udtName: UdtName
  readonly isNullable: boolean
  /** what `column_default` was given as; null for none */
  readonly columnDefault: string | null
  /** longest value: characters of text, bytes of `bytea` and `file`; null for any */
  readonly length: number | null
  /** of geometry columns, null elsewhere */
  readonly srid: number | null
  /** stored encrypted; never usable in a condition or an order */
  readonly isEncrypted: boolean
  /** of `file` columns: where the file's name, type and place are kept */
  readonly file: FileColumns | null
}

/** Names of the columns beside a `file` column, and of the property that may carry its path. */
export interface FileColumns {
  readonly nameColumn: string
  readonly typeColumn: string
  readonly prefixIdColumn: string
  readonly pathIdColumn: string
  readonly relativePathProperty: string
}

/** A registered loader table. */
export interface LoaderTable {
  readonly tableId: number
  readonly dataName: string
  /** name of the SQLite table, `<data_name>_tbl_0` */
  readonly tableName: string
  /** the schema that its name is told with, `event` unless chosen */
  readonly schema: string
  /** `start_datetime`, `end_datetime`, `location`, then the defined ones in their order */
  readonly columns: readonly Column[]
  readonly columnByName: ReadonlyMap<string, Column>
  readonly uniqueColumns: readonly string[]
}

/** Which rows of a table, and in what order. */
export interface TableQuery {
  /** rows whose location intersects it exactly; absent for everywhere, rows without a location included */
  area?: PreparedArea
  /** rows without a location match an area, too */
  isNowhereIn?: boolean
  /** rows whose [start, end) overlaps this half-open span, µs UTC; a null start or end of a row is unbounded */
  span?: { fromUs: bigint; untilUs: bigint }
  /** condition of the contract's section 1, not yet checked */
  conds?: unknown
  /** a column, `-column`, or an array of those; ties end with the row id */
  order?: unknown
  /** columns that are wanted; absent or empty for all */
  columns?: readonly string[]
  offset?: number
  limit?: number
  /** rows that came after the one of this id, so that pages neither repeat nor leave out rows while others arrive */
  afterId?: number
  /** rows that came before the one of this id */
  beforeId?: number
  /** the last `limit` of the rows instead of the first, ascending all the same; not beside an order */
  isFromEnd?: boolean
}

/** A row as it goes to the wire. */
export interface TableRow {
  readonly rowId: number
  readonly geometry: Geometry | null
  /** JSON values by column name, in column order; `location` is not among them */
  readonly properties: Record<string, unknown>
}

/** Reads tables. Each call looks at the catalogue afresh, so rows and tables of other writers are seen. */
export interface TableReader {
  /** by `data_name`, `table_name` or `schema.table_name`, each also behind `ddc:`; undefined when there is none */
  find(name: string): LoaderTable | undefined
  /** every table, by `data_name` */
  list(): LoaderTable[]
  /** grows by one with every call that changed the table's rows */
  dataVersion(table: LoaderTable): number
  /**
   * Pages of matching rows, read while they are asked for. No statement stays open between two pages, so writers go
   * on; a page holds at most `pageRows` rows. Rows that are changed meanwhile are read as they are then.
   *
   * @param paths where conds, order and columns stand in the caller's params, for messages; those of event data if absent
   * @throws AppError BAD_CONDITION, or INVALID_PARAMS for an unknown column, before the first page
   */
  pages(
    table: LoaderTable,
    query: TableQuery,
    signal?: AbortSignal,
    paths?: QueryPaths,
  ): AsyncGenerator<TableRow[]>
}

/** One risk cell as stored: `wkb` is its geometry. */
export type CellVisitor = (wkb: Uint8Array, level: number) => void
