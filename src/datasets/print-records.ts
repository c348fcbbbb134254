import { datetimeObject, formatDatetime, withoutOffset } from '../datetime.js'
import type { Stored, ValueEnv } from '../storage/columns/column-type.js'
import { setProperty } from '../storage/columns/set-property.js'
import type { StateColumn } from '../storage/columns/state-column.js'
import { type StateRow, TRANSACTION_RANGE } from '../storage/datasets/states.js'
import { decryptValue } from '../storage/formats/decrypt-value.js'
import type { Keyring } from '../storage/keyring.js'

/** Conditions under which records are printed. */
interface PrintOptions {
  /** name of the dataset or loader table, which encrypted values are bound to */
  readonly tableName: string
  readonly env: ValueEnv
  readonly keyring: Pick<Keyring, 'read'>
  /** reads the bytes of a stored file by its digest, for columns of type `file` */
  readFile(digest: string): Promise<Uint8Array>
}

/** Returns rows as the v2 API prints them: column name → JSON value. */
export async function printRecords(
  columns: readonly StateColumn[],
  rows: readonly StateRow[],
  options: PrintOptions,
): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  for (const [, ...values] of rows) {
    const record: Record<string, unknown> = {}
    for (const [at, column] of columns.entries()) {
      const made = printValue(column, values[at] ?? null, options)
      // waiting for every value would cost a turn of the microtask queue each
      setProperty(record, column.name, made instanceof Promise ? await made : made)
    }
    records.push(record)
  }
  return records
}

/** Returns a promise for file columns only. */
function printValue(column: StateColumn, stored: Stored, options: PrintOptions): unknown {
  const { env, tableName, keyring, readFile } = options
  if (column.name === TRANSACTION_RANGE) return printRange(stored, env)
  if (stored === null) return null
  if (column.isEncrypted) return decryptValue(tableName, column.name, stored, keyring)
  if (column.isFile) return readFile(String(stored)).then((bytes) => Buffer.from(bytes).toString('base64'))
  switch (column.udtName) {
    case 'timestamptz':
      return datetimeObject(microseconds(stored), env.timeZoneMin)
    case 'timestamp': // it has no offset
      return {
        _type: 'datetime',
        val: withoutOffset(formatDatetime(microseconds(stored), 0)),
      }
    default:
      return column.type.print(stored, env)
  }
}

/**
 * Prints a range of transactions as PostgreSQL prints a `tstzrange`. Its end is open: as of the citation the
 * version was current, whatever happened later.
 */
function printRange(beganAtUs: Stored, { timeZoneMin }: ValueEnv): string {
  if (beganAtUs === null) return '(,)'
  const [date, rest = ''] = formatDatetime(microseconds(beganAtUs), timeZoneMin).split('T')
  const time = rest.slice(0, -6).replace(/\.?0+$/, '') // at most six digits of the fraction
  const zone = rest.slice(-6).replace(/:00$/, '')
  return `["${date} ${time}${zone}",)`
}

function microseconds(stored: Stored): number | bigint {
  if (typeof stored !== 'bigint' && typeof stored !== 'number')
    throw new Error('a stored time is not an integer')
  return stored
}
