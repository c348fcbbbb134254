import { messageOf } from '../../errors.js'
import { parseExact } from '../../json/exact-json.js'
import { type DatasetColumn, parseDataType } from '../columns/data-type.js'

/** Description of its rows in a file. */
export interface Description {
  readonly columns: readonly DatasetColumn[]
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
}

/**
 * Parses JSON from a file.
 *
 * @param where file and place, for the error
 * @param expected what the JSON should be, for the error
 * @throws Error in one line with the place
 */
export function parseJson(text: string, where: string, expected: string): unknown {
  try {
    return parseExact(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    const reason = messageOf(error).replace(/\s+/g, ' ')
    throw new Error(`${where}: found no JSON (${reason}), expected ${expected}`, { cause: error })
  }
}

/** Narrows a JSON value to an object, which an array is not. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Error for a value of a file: where it is, what was found, what was expected. */
export function badValue(where: string, found: unknown, expected: string): Error {
  // a member that is absent has no JSON
  const text = JSON.stringify(found) as string | undefined
  return new Error(`${where}: found ${text?.slice(0, 60) ?? 'nothing'}, expected ${expected}`)
}

/**
 * Reads the member `citation` of an exported file, which describes its columns.
 *
 * @param value value of the member
 * @param where file and place of the member, for errors
 * @returns undefined when the member is that of another program: no object, or one without `columns`
 * @throws Error in one line when the description is malformed or has an unknown type
 */
export function readDescription(value: unknown, where: string): Description | undefined {
  if (!isObject(value) || value.columns === undefined) return undefined
  const { columns, key_columns: keyColumns = [] } = value
  if (!Array.isArray(columns)) throw badValue(`${where}.columns`, columns, 'an array of columns')
  const isKey = Array.isArray(keyColumns) && keyColumns.every((name) => typeof name === 'string')
  if (!isKey) throw badValue(`${where}.key_columns`, keyColumns, 'an array of names of columns')
  return {
    columns: columns.map((column, at) => readColumn(column, `${where}.columns[${at}]`)),
    keyColumns,
  }
}

/** Reads a column as `dataset.get_columns` describes it. */
function readColumn(column: unknown, where: string): DatasetColumn {
  if (!isObject(column)) throw badValue(where, column, 'an object that describes a column')
  const { column_name: name, data_type: text, nullable } = column
  if (typeof name !== 'string') throw badValue(`${where}.column_name`, name, 'a text')
  if (typeof nullable !== 'boolean') throw badValue(`${where}.nullable`, nullable, 'true or false')
  // types of loader tables alone: files and rasters are plain bytes in a dataset
  const typeText = text === 'file' || text === 'raster' ? 'bytea' : text
  const type = typeof typeText === 'string' ? parseDataType(typeText) : undefined
  if (type === undefined) throw badValue(`${where}.data_type`, text, 'a type that dataset.create takes')
  return { name, type, isNullable: nullable }
}
