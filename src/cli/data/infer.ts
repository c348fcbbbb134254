/** Columns that every table has by itself. */
const RESERVED = new Set(['start_datetime', 'end_datetime', 'location'])

const WHOLE = /^[+-]?(?:0|[1-9]\d{0,17})$/
const DECIMAL = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/**
 * A definition for records that come without one: whole numbers, numbers, truth values and text, by the values of the first
 * records. Text that is a number everywhere (CSV has only text) is a number; leading zeros keep it text.
 */
export function inferRecordDef(
  features: readonly unknown[],
  uniqueColumns: readonly string[],
): Record<string, { udt_name: string; is_nullable: boolean }> {
  const types = new Map<string, string | null>()
  for (const feature of features) {
    const properties = (feature as { properties?: Record<string, unknown> } | null)?.properties ?? {}
    for (const [name, value] of Object.entries(properties)) {
      if (RESERVED.has(name)) continue
      types.set(name, wider(types.get(name) ?? null, typeOf(value)))
    }
  }
  const columns = [...types].map(([name, type]): [string, { udt_name: string; is_nullable: boolean }] => [
    name,
    { udt_name: type ?? 'text', is_nullable: !uniqueColumns.includes(name) },
  ])
  return Object.fromEntries(columns)
}

/** null: the value says nothing. */
function typeOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int8' : 'float8'
  if (typeof value !== 'string') return 'text' // refused later, with its name
  if (WHOLE.test(value)) return 'int8'
  return DECIMAL.test(value) ? 'float8' : 'text'
}

function wider(a: string | null, b: string | null): string | null {
  if (a === null || b === null || a === b) return a ?? b
  const isNumber = (type: string) => type === 'int8' || type === 'float8'
  return isNumber(a) && isNumber(b) ? 'float8' : 'text'
}
