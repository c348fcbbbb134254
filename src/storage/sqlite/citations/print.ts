import { datetimeObject, formatDatetime } from '../../../datetime.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import type { Keyring } from '../../keyring.js'
import type { StateColumn } from '../datasets/column.js'
import { TRANSACTION_RANGE } from './plan.js'
import type { StateRow } from './state.js'
import type { VersionedTable } from './versions.js'

export interface PrintOptions {
  readonly env: ValueEnv
  readonly keyring: Pick<Keyring, 'decrypt'>
  /** bytes of a stored file, for columns of type `file` */
  readFile(digest: string): Promise<Uint8Array>
}

/** Rows as v2 answers have them: column name → JSON value. */
export async function printRecords(
  table: VersionedTable,
  columns: readonly StateColumn[],
  rows: readonly StateRow[],
  options: PrintOptions,
): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  for (const [, ...values] of rows) {
    const record: Record<string, unknown> = {}
    for (const [at, column] of columns.entries()) {
      const made = printValue(table, column, values[at] as Stored, options)
      const value = made instanceof Promise ? await made : made
      if (column.name === '__proto__') Object.defineProperty(record, column.name, { value, enumerable: true })
      else record[column.name] = value
    }
    records.push(record)
  }
  return records
}

/** A promise only for what lies in a file. */
function printValue(
  table: VersionedTable,
  column: StateColumn,
  stored: Stored,
  { env, keyring, readFile }: PrintOptions,
): unknown {
  if (column.name === TRANSACTION_RANGE) return printRange(stored, env)
  if (stored === null) return null
  if (column.isEncrypted) return decryptValue(table, column, stored, keyring)
  if (column.isFile) return readFile(stored as string).then((bytes) => Buffer.from(bytes).toString('base64'))
  switch (column.udtName) {
    case 'timestamptz':
      return datetimeObject(stored as bigint, env.timeZoneMin)
    case 'timestamp': // it has no offset, and gets none
      return { _type: 'datetime', val: formatDatetime(stored as bigint, 0).slice(0, -'+00:00'.length) }
    default:
      return column.type.print(stored, env)
  }
}

/** Plain text of an encrypted value. */
export function decryptValue(
  table: VersionedTable,
  column: StateColumn,
  stored: Stored,
  keyring: Pick<Keyring, 'decrypt'>,
): string {
  return keyring.decrypt(stored as Uint8Array, `${table.name}/${column.name}`)
}

/** As PostgreSQL prints a `tstzrange`. Seen from the citation a version has not ended, whatever came later. */
function printRange(beganAtUs: Stored, { timeZoneMin }: ValueEnv): string {
  if (beganAtUs === null) return '(,)'
  const [date, rest = ''] = formatDatetime(beganAtUs as bigint, timeZoneMin).split('T')
  const time = rest.slice(0, -6).replace(/\.?0+$/, '') // six digits of the fraction
  const zone = rest.slice(-6).replace(/:00$/, '')
  return `["${date} ${time}${zone}",)`
}
