import { decodeStored } from '../columns/byte-types.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import { typeOf } from '../columns/column-types.js'
import type { Column, LoaderTable, TableReaderOptions, TableRow } from '../tables.js'
import { cryptoContext } from './record-plan.js'

/**
 * A selected row: id and location first, because the exact test of an area needs them, then the selected
 * columns.
 */
export type SelectedRow = [rowId: bigint, location: Uint8Array | null, ...columns: Stored[]]

/** Facts that printing rows of one query needs. */
export interface RowPrinting {
  readonly table: LoaderTable
  /** columns after id and location, in the order of the row */
  readonly columns: readonly Column[]
  readonly env: ValueEnv
  readonly options: Pick<TableReaderOptions, 'keyring' | 'readFile' | 'sizeOfFile'>
}

/**
 * Returns rows in their JSON form: decrypted, and with the bytes of files.
 *
 * A value that was encrypted with another key is null.
 *
 * @throws Error when a stored value is damaged
 */
export async function printRows(printing: RowPrinting, rows: readonly SelectedRow[]): Promise<TableRow[]> {
  const printed: TableRow[] = []
  for (const [id, wkb, ...values] of rows) {
    const properties: Record<string, unknown> = {}
    for (const [at, column] of printing.columns.entries()) {
      const made = printValue(printing, column, values[at] ?? null)
      const value = made instanceof Promise ? await made : made // an await for each of a million rows is slow
      if (column.name === '__proto__')
        Object.defineProperty(properties, column.name, { value, enumerable: true })
      else properties[column.name] = value
    }
    printed.push({ rowId: Number(id), geometry: wkb === null ? null : decodeStored(wkb), properties })
  }
  return printed
}

/**
 * Returns the JSON value, a promise of it for a file. Values of encrypted columns are bytes, of file columns
 * text.
 */
function printValue({ table, env, options }: RowPrinting, column: Column, stored: Stored): unknown {
  if (stored === null) return null
  if (column.isEncrypted) return options.keyring.read(stored as Uint8Array, cryptoContext(table, column))
  if (column.file === null) return typeOf(column.udtName).print(stored, env)
  return options.readFile(String(stored)).then((bytes) => Buffer.from(bytes).toString('base64'))
}
