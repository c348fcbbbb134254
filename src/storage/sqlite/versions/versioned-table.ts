import { LOADER_TYPES } from '../../columns/column-types.js'
import type { StateColumn } from '../../columns/state-column.js'
import type { Column, LoaderTable } from '../../tables.js'
import type { VersionedName } from '../tables/version-names.js'

/** Table whose states can be cited. */
export interface VersionedTable extends VersionedName {
  /** name of the dataset or loader table */
  readonly name: string
  /** name with its schema: `provenance.prov_…`, `event.x_tbl_0` */
  readonly realname: string
  readonly columns: readonly StateColumn[]
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
  /** the loader table, whose spatial index is searched; undefined for datasets */
  readonly loader: LoaderTable | undefined
}

/** Rows of a table as of one transaction. */
export interface TableState {
  readonly table: VersionedTable
  /** rows that began by this transaction and had not ended; `current` for the rows as they are now */
  readonly tx: number | 'current'
  /** largest row id of the state; rows with a larger id were added later */
  readonly lastRowId: number
  /** columns that the table had then */
  readonly columns: readonly StateColumn[]
}

/** Returns the state that holds the current rows of a table. */
export function currentState(table: VersionedTable): TableState {
  return { table, tx: 'current', lastRowId: Number.MAX_SAFE_INTEGER, columns: table.columns }
}

/**
 * Returns a loader table as a versioned table.
 *
 * @param versionedId 0 for a table that was never cited, of which only the current rows can be read
 */
export function versionedLoader(loader: LoaderTable, versionedId: number): VersionedTable {
  return {
    versionedId,
    kind: 'loader',
    name: loader.dataName,
    realname: `${loader.schema}.${loader.tableName}`,
    tableName: loader.tableName,
    columns: loader.columns.map(loaderStateColumn),
    keyColumns: loader.uniqueColumns,
    loader,
  }
}

/** Returns a loader table's column with the rules of its type. */
export function loaderStateColumn(column: Column): StateColumn {
  const type = LOADER_TYPES[column.udtName]
  const isUserDefined = type.dataType === 'USER-DEFINED'
  const length = column.length === null ? '' : `(${column.length})`
  return {
    name: column.name,
    type,
    udtName: column.udtName,
    rules: column,
    isNullable: column.isNullable,
    srid: column.srid,
    isEncrypted: column.isEncrypted,
    isFile: column.file !== null,
    typeText: isUserDefined ? column.udtName : `${type.dataType}${type.kind === 'text' ? length : ''}`,
  }
}
