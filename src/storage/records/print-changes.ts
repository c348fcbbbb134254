import type { ValueEnv } from '../columns/column-type.js'
import type { ChangedRow, LoaderTable, TableReaderOptions, TableRow } from '../tables.js'
import { printRows } from './print-rows.js'
import { LOCATION } from './record-plan.js'

/**
 * Returns changed rows in their JSON form, as a reader of tables returns rows; `rowId` is the number of the change.
 *
 * @param names columns to print; empty for all
 * @throws Error when a stored value is damaged
 */
export async function printChanges(
  table: LoaderTable,
  rows: readonly ChangedRow[],
  names: readonly string[],
  printing: { readonly env: ValueEnv; readonly options: Pick<TableReaderOptions, 'keyring' | 'readFile'> },
): Promise<TableRow[]> {
  const slots = [...table.columns.entries()].filter(
    ([slot, { name }]) => slot !== LOCATION && (names.length === 0 || names.includes(name)),
  )
  const found = rows.map(({ change, values }) => {
    const location = values[LOCATION] as Uint8Array | null // the reserved column holds WKB
    return [BigInt(change), location, ...slots.map(([slot]) => values[slot] ?? null)] as const
  })
  const columns = slots.map(([, column]) => column)
  return await printRows(
    { table, columns, ...printing },
    found.map((row) => [...row]),
  )
}
