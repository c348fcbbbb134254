import { AppError, invalidParams } from '../../errors.js'
import type { LoaderTable } from '../../storage/tables.js'
import { whyNotSendable } from '../batch/definition.js'

/** Number of columns at the beginning of each table that every feed carries. */
const RESERVED = 3

/** @throws AppError TABLE_NOT_SENDABLE for a column that feeds do not carry */
export function requireSendable(table: LoaderTable, wanted: readonly string[] | null): void {
  for (const column of table.columns) {
    const why = wanted === null || wanted.includes(column.name) ? whyNotSendable(column) : undefined
    if (why === undefined) continue
    const message = `The column ${column.name} ${why}, which feeds do not carry; name the other columns in columns`
    throw new AppError('TABLE_NOT_SENDABLE', { column: column.name }, { message })
  }
}

/**
 * Requires that the columns of a feed are those of its table, the unique key among them.
 *
 * @throws AppError INVALID_PARAMS
 */
export function requireColumnsOf(table: LoaderTable, columns: readonly string[] | null): void {
  if (columns === null) return
  const faults = columns.flatMap((name, index) =>
    table.columnByName.has(name)
      ? []
      : [
          {
            path: `$.columns[${index}]`,
            message: `found ${JSON.stringify(name)}, expected a column of ${table.dataName}`,
          },
        ],
  )
  const isReserved = (name: string) => table.columns.slice(0, RESERVED).some((column) => column.name === name)
  const missing = table.uniqueColumns.filter((name) => !isReserved(name) && !columns.includes(name))
  if (missing.length > 0)
    faults.push({
      path: '$.columns',
      message: `found no ${missing.join(', ')}, expected the columns of the unique key`,
    })
  if (faults.length > 0) throw invalidParams(faults)
}
