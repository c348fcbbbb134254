import type { ChangedRow, LoaderTable } from '../../tables.js'
import type { TextRow } from '../connection/database.js'
import { sqlTypeOf } from '../tables/ddl.js'
import { readValues } from '../tables/stored-values.js'

/** Values of a changed row before those of its columns: number, origin, day, version, sender. */
export const CHANGED_HEAD = 5

/** Reads a row. @param base of the versions of this hub's own rows */
export function toChangedRow(table: LoaderTable, row: TextRow, base: number): ChangedRow {
  const [number, origin, day, version, sender] = row
  const change = Number(number)
  return {
    ...{ change, origin: origin ?? '', day: Number(day) },
    version: origin === '' ? base + change : Number(version ?? 0),
    sender: sender ?? '',
    values: readValues(table.columns.map(sqlTypeOf), row, CHANGED_HEAD),
  }
}
