import { isFault, type Stored } from '../columns/column-type.js'
import { typeOf } from '../columns/column-types.js'
import type { Column, LoaderTable, RecordEnv } from '../tables.js'

/** Reason why a record was refused; `column` is null when the fault is not that of one column. */
export interface RecordFault {
  column: string | null
  reason: string
}

/** Positions of the reserved columns. */
export const START = 0
export const END = 1
export const LOCATION = 2

/** Facts about a table that reading its records needs, derived once per call. */
export interface RecordPlan {
  readonly table: LoaderTable
  readonly env: RecordEnv
  /** position of each column that `properties` may set */
  readonly slotOf: ReadonlyMap<string, number>
  readonly fileSlots: readonly number[]
  /** value of each column that a record does not set; undefined when every record must set it; never null if not nullable */
  readonly defaults: readonly (Stored | undefined)[]
}

/**
 * Returns the context an encrypted value is bound to: it cannot be decrypted as a value of another column.
 */
export function cryptoContext(table: LoaderTable, column: Column): string {
  return `${table.dataName}/${column.name}`
}

/**
 * Derives a plan from a table.
 *
 * @throws Error when a default that registration accepted does not fit its column
 */
export function planRecords(table: LoaderTable, env: RecordEnv): RecordPlan {
  const { columns } = table
  const slots = columns.map((column, slot): [string, number] => [column.name, slot])
  return {
    table,
    env,
    slotOf: new Map(slots.filter(([, slot]) => slot !== LOCATION)),
    fileSlots: slots.map(([, slot]) => slot).filter((slot) => columns[slot]?.file !== null),
    defaults: columns.map((column) => defaultOf(column, env)),
  }
}

function defaultOf(column: Column, env: RecordEnv): Stored | undefined {
  if (column.columnDefault === null) return column.isNullable ? null : undefined
  const value = typeOf(column.udtName).read(column.columnDefault, column, env)
  if (isFault(value))
    throw new Error(`the default of ${column.name} does not fit its type: found ${value.found}`)
  return value
}
