import type { Column, LoaderTable, TableRef } from './tables.js'

/**
 * Adds columns without values to a table.
 *
 * @param columns nullable, without defaults; checked
 * @throws AppError UNKNOWN_TABLE, INVALID_PARAMS for a name that the table has, BUSY, DISK_FULL
 */
export type AddColumns = (table: TableRef, columns: readonly Column[]) => Promise<LoaderTable>
