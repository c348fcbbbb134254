import { describeValue } from '../../geo/fault.js'
import { type ColumnType, quoteDefault } from './column-type.js'

/** Any JSON value but null, which is the column's own null; kept as compact text. It has no order. */
export const JSON_TYPE: ColumnType = {
  dataType: 'json',
  sqlType: 'TEXT',
  form: 'JSON text',
  check: (column) => `json_valid(${column})`,
  lengthUnit: null,
  sortKey: null,
  read(json) {
    const infinite = findInfinite(json)
    if (infinite !== undefined)
      return { found: describeValue(infinite), expected: 'numbers that double can hold' }
    return JSON.stringify(json)
  },
  operand: () => ({ found: 'a json column', expected: 'a column that can be compared, or is_null' }),
  print: (stored) => JSON.parse(stored as string) as unknown,
  renderDefault: (given) => quoteDefault(given, 'json'),
}

/** A number that `JSON.stringify` would turn into null without a word. */
function findInfinite(json: unknown): number | undefined {
  if (typeof json === 'number') return Number.isFinite(json) ? undefined : json
  if (typeof json !== 'object' || json === null) return undefined
  for (const value of Object.values(json)) {
    const infinite = findInfinite(value)
    if (infinite !== undefined) return infinite
  }
  return undefined
}
