import { AppError } from '../../errors.js'
import { candidates } from '../../messages/candidates.js'
import { describeFound } from '../../messages/fault-text.js'
import type { ConditionColumn } from './condition.js'

/** A column to sort by. */
export interface OrderTerm {
  readonly column: string
  readonly isDescending: boolean
}

const MAX_TERMS = 16

/**
 * Parses `order`: a column, `-column` for descending, or an array of those. A column whose name begins with a
 * minus takes precedence. The reader orders ties by row id.
 *
 * @param path of the order in the params, for instance `$.order`
 * @throws AppError BAD_CONDITION, `data` = `{ path, found, expected }`
 */
export function parseOrder(
  json: unknown,
  columns: ReadonlyMap<string, ConditionColumn>,
  path: string,
): OrderTerm[] {
  if (json === undefined || json === null) return []
  if (!Array.isArray(json)) return [parseTerm(json, columns, path)]
  if (json.length > MAX_TERMS) refuse(path, `${json.length} columns`, `at most ${MAX_TERMS}`)
  return json.map((term, index) => parseTerm(term, columns, `${path}[${index}]`))
}

function parseTerm(json: unknown, columns: ReadonlyMap<string, ConditionColumn>, path: string): OrderTerm {
  if (typeof json !== 'string') refuse(path, describeFound(json), 'a column, or -column')
  const isDescending = !columns.has(json) && json.startsWith('-')
  const name = isDescending ? json.slice(1) : json
  const column = columns.get(name)
  if (column === undefined) {
    const known = candidates(columns.keys(), name)
    refuse(path, describeFound(json), `the name of a column, or - and a name (${known})`)
  }
  if (column.isEncrypted || column.type.order === null)
    refuse(
      path,
      `the column ${name}`,
      'a column that has an order (not encrypted, not a geometry, not a file)',
    )
  return { column: name, isDescending }
}

function refuse(path: string, found: string, expected: string): never {
  throw new AppError(
    'BAD_CONDITION',
    { path, found, expected },
    { message: `Bad order at ${path}: found ${found}, expected ${expected}` },
  )
}
