import { describeValue } from '../../geo/fault.js'
import { type ColumnType, quoteDefault } from './column-type.js'

/** The type of JSON values, stored as compact text. JSON null is the null of the column. */
export const JSON_TYPE: ColumnType = {
  dataType: 'json',
  kind: 'text',
  form: 'JSON text',
  domain: 'json',
  lengthUnit: null,
  order: null,
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
