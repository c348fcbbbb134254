import type { UdtName } from '../../storage/columns/column-types.js'
import { RESERVED_COLUMNS } from '../../storage/tables.js'
import type { ColumnDef } from '../../tables/column-def.js'

const WHOLE = /^[+-]?(?:0|[1-9]\d{0,17})$/
const DECIMAL = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/**
 * Derives the columns of a table from the values of its first records: integers, numbers, booleans and text.
 * Text that is a number in all records (CSV has only text) becomes a number; leading zeros keep it text.
 *
 * @returns column name → definition, nullable unless the column is part of the key
 */
export function inferColumns(
  features: readonly unknown[],
  uniqueColumns: readonly string[],
): Map<string, ColumnDef> {
  const types = new Map<string, UdtName | null>()
  for (const feature of features) {
    for (const [name, value] of propertiesOf(feature)) {
      if (RESERVED_COLUMNS.some((column) => column.name === name)) continue
      types.set(name, wider(types.get(name) ?? null, typeOf(value)))
    }
  }
  const defs = new Map<string, ColumnDef>()
  for (const [name, type] of types)
    defs.set(name, {
      udt_name: type ?? 'text',
      is_nullable: !uniqueColumns.includes(name),
      need_crypto: false,
    })
  return defs
}

function propertiesOf(feature: unknown): [string, unknown][] {
  if (typeof feature !== 'object' || feature === null || !('properties' in feature)) return []
  return Object.entries(feature.properties ?? {})
}

/** Returns the narrowest type of a value; null for a value that fits every type. */
function typeOf(value: unknown): UdtName | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int8' : 'float8'
  if (typeof value !== 'string') return 'text' // storing the record refuses it and names the column
  if (WHOLE.test(value)) return 'int8'
  return DECIMAL.test(value) ? 'float8' : 'text'
}

/** Returns the narrowest type that holds the values of both. */
function wider(a: UdtName | null, b: UdtName | null): UdtName | null {
  if (a === null || b === null || a === b) return a ?? b
  const isNumber = (type: UdtName) => type === 'int8' || type === 'float8'
  return isNumber(a) && isNumber(b) ? 'float8' : 'text'
}
