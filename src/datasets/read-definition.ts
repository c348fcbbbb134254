import type { z } from 'zod'
import { type CreateParams, NAME, NAME_RULE } from '../api/dataset/schema.js'
import { AppError } from '../errors.js'
import { TRANSACTION_RANGE } from '../storage/sqlite/citations/plan.js'
import type { DatasetDefinition } from '../storage/sqlite/datasets/catalog.js'
import {
  DATA_TYPE_NAMES,
  type DatasetColumn,
  parseDataType,
  stateColumn,
} from '../storage/sqlite/datasets/column.js'

interface Fault {
  path: string
  message: string
}

/**
 * Checks what a dataset is made of.
 *
 * @throws AppError INVALID_PARAMS with every fault and its path
 */
export function readDefinition(params: z.output<typeof CreateParams>): Omit<DatasetDefinition, 'usename'> {
  const faults: Fault[] = []
  const columns = params.columns.flatMap((def, index): DatasetColumn[] => {
    const at = `$.columns[${index}]`
    const nameFault = faultOfName(def.column_name)
    if (nameFault !== undefined) faults.push({ path: `${at}.column_name`, message: nameFault })
    const same = params.columns.findIndex((other) => isSameName(other.column_name, def.column_name))
    if (same < index)
      faults.push({
        path: `${at}.column_name`,
        message: `found ${quoted(def.column_name)} again, expected a name of its own (the case of ASCII letters does not count)`,
      })
    const type = parseDataType(def.data_type)
    if (type !== undefined) return [{ name: def.column_name, type, isNullable: def.nullable }]
    const message = `found ${quoted(def.data_type)}, expected one of ${DATA_TYPE_NAMES.join(', ')}`
    faults.push({ path: `${at}.data_type`, message })
    return []
  })
  const keyColumns = params.key_columns ?? []
  for (const [index, key] of keyColumns.entries()) {
    const message = faultOfKey(key, keyColumns.indexOf(key) < index, columns)
    if (message !== undefined) faults.push({ path: `$.key_columns[${index}]`, message })
  }
  const [first] = faults
  if (first !== undefined) {
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
    const message = `Invalid params: ${first.path}: ${first.message}${more}`
    throw new AppError('INVALID_PARAMS', { faults: faults.slice(0, 100) }, { message })
  }
  return { name: params.dataset_name, columns, keyColumns }
}

function faultOfName(name: string): string | undefined {
  if (!NAME.test(name)) return `found ${quoted(name)}, expected ${NAME_RULE}`
  if (isSameName(name, TRANSACTION_RANGE)) return `found the reserved name ${name}, expected another`
  return undefined
}

function faultOfKey(key: string, isRepeated: boolean, columns: readonly DatasetColumn[]): string | undefined {
  if (isRepeated) return `found ${quoted(key)} again, expected each column once`
  const column = columns.find(({ name }) => name === key)
  if (column === undefined) return `found ${quoted(key)}, expected the name of one of the columns`
  if (column.isNullable) return `found ${quoted(key)}, which is nullable, expected a column without nulls`
  if (stateColumn(column).type.sortKey === null)
    return `found ${quoted(key)} of type ${column.type.udtName}, expected a column that can be compared`
  return undefined
}

/** SQLite tells columns apart without regard to the case of ASCII letters. */
function isSameName(a: string, b: string): boolean {
  const plain = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return plain(a) === plain(b)
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
