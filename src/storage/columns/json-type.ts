import { parseExact } from '../../json/exact-json.js'
import { type ColumnType, quoteDefault } from './column-type.js'

/**
 * The type of JSON values, stored as compact text with numbers as supplied: 1.0 stays 1.0, and
 * 1234567890123456789 is not rounded. JSON null is the null of the column.
 */
export const JSON_TYPE: ColumnType = {
  dataType: 'json',
  kind: 'text',
  form: 'JSON text',
  domain: 'json',
  lengthUnit: null,
  order: null,
  read: (json) => JSON.stringify(json),
  operand: () => ({ found: 'a json column', expected: 'a column that can be compared, or is_null' }),
  print: (stored) => parseExact(stored as string),
  renderDefault: (given) => quoteDefault(given, 'json'),
}
