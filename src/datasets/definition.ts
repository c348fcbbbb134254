import { type Fault, invalidParams } from '../errors.js'
import { DATA_TYPE_NAMES, type DatasetColumn, parseDataType } from '../storage/columns/data-type.js'
import { stateColumn } from '../storage/columns/state-column.js'
import type { DatasetDefinition } from '../storage/datasets/datasets.js'
import { TRANSACTION_RANGE } from '../storage/datasets/states.js'
import { isName, NAME_RULE } from './name.js'

/** Dataset to create, as a caller describes it. */
export interface DatasetParams {
  readonly dataset_name: string
  readonly columns: readonly { column_name: string; data_type: string; nullable: boolean }[]
  readonly key_columns?: readonly string[] | null | undefined
}

/**
 * Checks the columns and the key of a dataset.
 *
 * @throws AppError INVALID_PARAMS with every fault and its path
 */
export function readDefinition(params: DatasetParams): Omit<DatasetDefinition, 'usename'> {
  const { columns, faults } = collectColumns(params.columns, '$.columns')
  const keyColumns = params.key_columns ?? []
  for (const [index, key] of keyColumns.entries()) {
    const message = faultOfKey(key, keyColumns.indexOf(key) < index, columns)
    if (message !== undefined) faults.push({ path: `$.key_columns[${index}]`, message })
  }
  if (faults.length > 0) throw invalidParams(faults)
  return { name: params.dataset_name, columns, keyColumns }
}

/**
 * Checks columns that are added to a dataset.
 *
 * @throws AppError INVALID_PARAMS with every fault and its path
 */
export function readAddedColumns(columns: DatasetParams['columns']): readonly DatasetColumn[] {
  const faults = columns.flatMap(({ nullable }, index): Fault[] => {
    const message = 'found false, expected true: rows that are stored have no value of it'
    return nullable ? [] : [{ path: `$.add_columns[${index}].nullable`, message }]
  })
  if (faults.length > 0) throw invalidParams(faults)
  const read = collectColumns(columns, '$.add_columns')
  if (read.faults.length > 0) throw invalidParams(read.faults)
  return read.columns
}

/** Reads columns, and tells every fault of them. @param path of the array */
function collectColumns(
  given: DatasetParams['columns'],
  path: string,
): { columns: DatasetColumn[]; faults: Fault[] } {
  const faults: Fault[] = []
  const columns = given.flatMap((def, index): DatasetColumn[] => {
    const at = `${path}[${index}]`
    const nameFault = faultOfName(def.column_name)
    if (nameFault !== undefined) faults.push({ path: `${at}.column_name`, message: nameFault })
    const first = given.findIndex((other) => isSameName(other.column_name, def.column_name))
    if (first < index) {
      const message = `found ${quoted(def.column_name)} again, expected a unique name, also without regard to case`
      faults.push({ path: `${at}.column_name`, message })
    }
    const type = parseDataType(def.data_type)
    if (type !== undefined) return [{ name: def.column_name, type, isNullable: def.nullable }]
    const message = `found ${quoted(def.data_type)}, expected one of ${DATA_TYPE_NAMES.join(', ')}`
    faults.push({ path: `${at}.data_type`, message })
    return []
  })
  return { columns, faults }
}

function faultOfName(name: string): string | undefined {
  if (!isName(name)) return `found ${quoted(name)}, expected ${NAME_RULE}`
  if (isSameName(name, TRANSACTION_RANGE)) return `found the reserved name ${name}, expected another name`
  return undefined
}

function faultOfKey(key: string, isRepeated: boolean, columns: readonly DatasetColumn[]): string | undefined {
  if (isRepeated) return `found ${quoted(key)} again, expected each column once`
  const column = columns.find(({ name }) => name === key)
  if (column === undefined) return `found ${quoted(key)}, expected the name of one of the columns`
  if (column.isNullable) return `found ${quoted(key)}, which is nullable, expected a column without nulls`
  if (stateColumn(column).type.order === null)
    return `found ${quoted(key)} of type ${column.type.udtName}, expected a column that can be compared`
  return undefined
}

/** SQLite ignores the case of ASCII letters in column names. */
function isSameName(a: string, b: string): boolean {
  const lower = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return lower(a) === lower(b)
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
