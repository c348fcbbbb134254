import type { Stored } from '../../columns/column-type.js'
import { CHAR_BYTES, LARGE_BYTES, type LargeValue } from '../../columns/large-values.js'
import type { StateColumn } from '../../columns/state-column.js'
import type { StateRow } from '../../datasets/states.js'
import type { LargeReads } from '../../work/large-reads.js'
import type { Db } from '../connection/database.js'
import { mayBeLarge, requireReadable, valueOrSizeSql } from '../connection/large-values.js'

/** Largest geometry that a page has as hexadecimal digits, bytes. Points have 21 or 29. */
const HEX_BYTES = 64

/** Returns SQL for a value of a page: its size when it is large, hexadecimal digits of a small geometry. */
export function pageValueSql(column: StateColumn, sql: string): string {
  if (!isLargeColumn(column)) return sql
  if (!isPlace(column)) return valueOrSizeSql(sql)
  return `CASE WHEN octet_length(${sql}) <= ${HEX_BYTES} THEN hex(${sql}) ELSE ${valueOrSizeSql(sql)} END`
}

/**
 * Returns a function that puts the bytes in the place of hexadecimal digits. A text and a part of a larger
 * buffer take less time than the buffer of its own that the database makes for each value of bytes.
 *
 * @param columns those of `pageValueSql`, after the row id
 */
export function hexReader(columns: readonly StateColumn[]): (rows: readonly StateRow[]) => void {
  const slots = columns.flatMap((column, at) => (isPlace(column) ? [at + 1] : []))
  return (rows) => {
    for (const at of slots) {
      for (const row of rows) {
        const value = row[at]
        if (typeof value === 'string') row[at] = Buffer.from(value, 'hex')
      }
    }
  }
}

function isPlace({ srid, isEncrypted }: StateColumn): boolean {
  return srid !== null && !isEncrypted
}

function isLargeColumn({ type, rules, isFile }: StateColumn): boolean {
  return !isFile && mayBeLarge(type.kind, rules.length)
}

interface WholeRows {
  readonly db: Db
  readonly columns: readonly StateColumn[]
  readonly turns: LargeReads | undefined
  readonly signal: AbortSignal | undefined
  /** reads one row with all its values; empty when it is gone */
  readWhole(rowId: number): StateRow[]
}

/** Yields pages whose large values are whole: rows that have some come one by one, each when it is its turn. */
export async function* withLargeValues(
  pages: AsyncIterable<StateRow[]>,
  reading: WholeRows,
): AsyncGenerator<StateRow[]> {
  const slots = reading.columns.flatMap((column, at) =>
    isLargeColumn(column) ? [{ at: at + 1, name: column.name }] : [],
  )
  for await (const rows of pages) {
    let small: StateRow[] = []
    for (const row of rows) {
      const large = largeValues(row, slots)
      if (large.length === 0) {
        small.push(row)
        continue
      }
      if (small.length > 0) yield small
      small = []
      yield* readLarge(reading, row, large)
    }
    if (small.length > 0) yield small
  }
}

/** True for a page that is one row with large values. */
export function isLargePage([row, next]: readonly StateRow[]): boolean {
  if (row === undefined || next !== undefined) return false
  return row.some(
    (value) =>
      (typeof value === 'string' || value instanceof Uint8Array) && value.length * CHAR_BYTES > LARGE_BYTES,
  )
}

function largeValues(row: StateRow, slots: readonly { at: number; name: string }[]): LargeValue[] {
  const large: LargeValue[] = []
  for (const { at, name } of slots) {
    const value = row[at] as Stored
    if (typeof value === 'bigint') large.push({ name, bytes: Number(value) })
  }
  return large
}

async function* readLarge(
  { db, turns, signal, readWhole }: WholeRows,
  [rowId]: StateRow,
  large: readonly LargeValue[],
): AsyncGenerator<StateRow[]> {
  const bytes = requireReadable(db, large)
  const end = await turns?.take(bytes, signal)
  try {
    const rows = readWhole(Number(rowId))
    if (rows.length > 0) yield rows
    rows.length = 0 // those who took it still hold it when they ask for the next
  } finally {
    end?.()
  }
}
