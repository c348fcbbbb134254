import type { Stored } from '../../storage/columns/column-type.js'
import { isFault } from '../../storage/columns/column-type.js'
import { sizeFault } from '../../storage/columns/value-size.js'
import type { ReceivedRow } from '../../storage/exchange/feeds.js'
import { createPause } from '../../storage/pause.js'
import type { Column, LoaderTable } from '../../storage/tables.js'
import type { DecodedBatch } from './decode.js'
import { fromSent } from './values.js'

/** A row that does not fit the table. */
export interface RefusedRow {
  /** place in the batch, from 0 */
  readonly index: number
  /** null when the fault is not that of one column */
  readonly column: string | null
  readonly reason: string
}

/** Most refused rows that are told at once. */
const MAX_REFUSED = 100
/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5
/** Rows between two checks of the clock. */
const CHECK_ROWS = 64
/** Positions of `start_datetime` and `end_datetime` in every table. */
const START = 0
const END = 1

/**
 * Checks the values of a batch as those of records are.
 *
 * @param maxBytes most bytes of the values of a row
 * @returns the rows, or those that are refused
 */
export async function readRows(
  table: LoaderTable,
  { header, columns, origins, days, versions }: DecodedBatch,
  maxBytes: number,
): Promise<{ rows: ReceivedRow[] } | { refused: RefusedRow[] }> {
  const sent = new Map(header.columns.map((name, at) => [name, columns[at]]))
  const lines = table.columns.map((column) => ({ column, line: sent.get(column.name) }))
  const rows: ReceivedRow[] = []
  const refused: RefusedRow[] = []
  const pause = createPause(undefined, SLICE_MS)
  for (let index = 0; index < header.rows && refused.length < MAX_REFUSED; index++) {
    const row = readRow(lines, index, maxBytes)
    if ('reason' in row) refused.push({ index, ...row })
    else
      rows.push({
        // decoding counted them
        origin: origins[index] as string,
        day: days[index] as number,
        version: versions[index] as number,
        values: row.values,
      })
    if (index % CHECK_ROWS === 0) await pause()
  }
  return refused.length > 0 ? { refused } : { rows }
}

interface Line {
  readonly column: Column
  /** absent for a column that the sender does not send */
  readonly line: readonly unknown[] | undefined
}

function readRow(
  lines: readonly Line[],
  index: number,
  maxBytes: number,
): { values: Stored[] } | Omit<RefusedRow, 'index'> {
  const values: Stored[] = []
  for (const { column, line } of lines) {
    const value = fromSent(column, line?.[index] ?? null)
    if (isFault(value))
      return { column: column.name, reason: `found ${value.found}, expected ${value.expected}` }
    values.push(value)
  }
  const [start, end] = [values[START], values[END]]
  if (typeof start === 'bigint' && typeof end === 'bigint' && start > end)
    return { column: 'end_datetime', reason: 'found an end before start_datetime, expected start ≤ end' }
  return sizeFault(values, (slot) => (lines[slot] as Line).column.name, maxBytes) ?? { values }
}
