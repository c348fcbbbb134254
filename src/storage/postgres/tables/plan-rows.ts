import type { Bbox } from '../../../geo/types.js'
import type { Stored } from '../../columns/column-type.js'
import { isEqual } from '../../records/is-equal.js'
import type { Column, LoaderTable } from '../../tables.js'
import { keySql } from './ddl.js'

/** A row to write, its values checked. */
export interface NewRow {
  readonly values: readonly Stored[]
  readonly box: Bbox | undefined
  /** UTC day of its last write at its origin */
  readonly day: number
  /** version at its origin; null for a row of this hub */
  readonly version: number | null
  /** where it comes from, by ids of `row_origin`; absent for the origin and the sender of the writer */
  readonly from?: RowSource | undefined
}

/** Node at which a row was first put, and node that sent it. */
export interface RowSource {
  readonly originId: number
  /** null where it is not known */
  readonly senderId: number | null
}

/** A stored row with the key of a new one. */
export interface OldRow {
  readonly rowId: number
  readonly change: number
  readonly day: number
  readonly version: number
  /** undefined where they are not needed */
  readonly values: readonly Stored[] | undefined
}

/** A row as it is written, at most once for each key. */
export interface PlannedRow {
  /** position of the first row with the key */
  readonly index: number
  row: NewRow
  readonly rowId: number
  change: number
  /** the stored row that it replaces */
  readonly old: OldRow | undefined
}

/** Numbers that were given last. */
export interface Numbers {
  readonly lastRow: number
  readonly lastChange: number
}

/** Outcome for a row: its key was new, or it overrode the row of its key, or that row stayed as it was. */
export type Outcome = 'insert' | 'update' | 'skip'

/** Plan for a set of rows. */
export interface RowsPlan {
  readonly planned: readonly PlannedRow[]
  /** one for each row, up to the refused one */
  readonly outcomes: readonly Outcome[]
  readonly numbers: Numbers
  /** position of the first row whose key exists, which ends the plan; undefined unless rows are refused for that */
  readonly refused: number | undefined
}

/** Treatment of a row whose key exists; `news` overrides unless the stored row is newer, or the same. */
export type OnDuplicate = 'override' | 'skip' | 'error' | 'news'

/**
 * Plans the writing of rows. Rows with the same key become one, as if they were written one after the other: each
 * write that takes place has a change number of its own.
 *
 * @param keys of the rows, from `keyReader`
 * @param olds stored rows by position of the first new row with their key; empty where none is known yet
 */
export function planRows(
  rows: readonly NewRow[],
  keys: readonly (string | undefined)[],
  {
    before,
    olds,
    onDuplicate,
  }: { before: Numbers; olds: ReadonlyMap<number, OldRow>; onDuplicate: OnDuplicate },
): RowsPlan {
  let { lastRow, lastChange } = before
  const outcomes: Outcome[] = []
  const byKey = new Map<string, PlannedRow | OldRow>()
  const keep = (index: number, row: PlannedRow | OldRow) => {
    const key = keys[index]
    if (key !== undefined) byKey.set(key, row)
  }
  const find = (index: number) => {
    const key = keys[index]
    return (key === undefined ? undefined : byKey.get(key)) ?? olds.get(index)
  }
  const planned: PlannedRow[] = []
  const result = (refused?: number): RowsPlan => ({
    ...{ planned, outcomes, refused },
    numbers: { lastRow, lastChange },
  })
  for (const [index, row] of rows.entries()) {
    const found = find(index)
    if (found === undefined) {
      outcomes.push('insert')
      const made = { index, row, rowId: ++lastRow, change: ++lastChange, old: undefined }
      planned.push(made)
      keep(index, made)
      continue
    }
    if (onDuplicate === 'error') return result(index)
    keep(index, found)
    const isWritten = onDuplicate === 'override' || (onDuplicate === 'news' && isNews(row, found))
    outcomes.push(isWritten ? 'update' : 'skip')
    if (!isWritten) continue
    lastChange++
    if ('row' in found) {
      found.row = row
      found.change = lastChange
      continue
    }
    const made = { index, row, rowId: found.rowId, change: lastChange, old: found }
    planned.push(made)
    keep(index, made)
  }
  return result()
}

/** False for an older version than the one that is there, and for the same with the same values. */
function isNews(row: NewRow, found: PlannedRow | OldRow): boolean {
  const { version, day, values } = 'row' in found ? found.row : found
  if (version !== row.version) return (version ?? 0) < (row.version ?? 0)
  return day !== row.day || !row.values.every((value, slot) => isEqual(values?.[slot] ?? null, value))
}

/**
 * Returns a function that reads the key of a row as text: keys are equal where the texts are. It is undefined for a
 * key with a null, which equals no other.
 */
export function keyReader(table: LoaderTable): (values: readonly Stored[]) => string | undefined {
  const slots = table.uniqueColumns.map((name) => table.columns.findIndex((column) => column.name === name))
  const trimmed = slots.map((slot) => keySql(table.columns[slot] as Column, '') !== '')
  const [only] = slots
  const textOf = (value: Exclude<Stored, null>, isTrimmed: boolean): string => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
    return isTrimmed ? String(value).replace(/ +$/, '') : String(value)
  }
  return (values) => {
    if (slots.length === 1 && only !== undefined) {
      const value = values[only] ?? null
      return value === null ? undefined : textOf(value, trimmed[0] === true)
    }
    let key = ''
    for (const [at, slot] of slots.entries()) {
      const value = values[slot] ?? null
      if (value === null) return undefined
      const text = textOf(value, trimmed[at] === true)
      key += `${text.length}:${text}`
    }
    return key
  }
}
