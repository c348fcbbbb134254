import { AppError } from '../../errors.js'
import type { Stored, ValueFault } from '../../storage/columns/column-type.js'
import { isFault } from '../../storage/columns/column-type.js'
import { sizeFault } from '../../storage/columns/value-size.js'
import type { ReceivedRow } from '../../storage/exchange/feeds.js'
import type { Column, LoaderTable } from '../../storage/tables.js'
import { createPause } from '../../storage/work/pause.js'
import type { DecodedBatch } from './decode.js'
import { PIECE_VALUES } from './sent-line.js'
import { receiverOf } from './values.js'

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
  batch: DecodedBatch,
  maxBytes: number,
): Promise<{ rows: ReceivedRow[] } | { refused: RefusedRow[] }> {
  const rows: ReceivedRow[] = []
  const refused: RefusedRow[] = []
  const pause = createPause(undefined, SLICE_MS)
  for (const { index, row } of checkedRows(table, batch, maxBytes)) {
    if ('reason' in row) refused.push({ index, ...row })
    else rows.push(row)
    if (refused.length >= MAX_REFUSED) break
    if (index % CHECK_ROWS === 0) await pause()
  }
  return refused.length > 0 ? { refused } : { rows }
}

/** Rows of a batch that is stored while it is read. */
export interface RowsAtOnce {
  /** throws AppError BAD_RECORD at the first row that does not fit */
  readonly rows: Iterable<ReceivedRow>
  /** absent where the rows may have several origins */
  readonly origin?: string
}

/**
 * Returns the rows of a batch, which are checked while they are read, so that they are never all in memory.
 *
 * @param except origin whose rows are left out
 * @param maxBytes most bytes of the values of a row
 */
export function rowsAtOnce(
  table: LoaderTable,
  batch: DecodedBatch,
  except: string,
  maxBytes: number,
): RowsAtOnce {
  const [origin, ...others] = new Set(batch.origins.filter((one) => one !== except))
  const rows = {
    *[Symbol.iterator]() {
      for (const { index, row } of checkedRows(table, batch, maxBytes)) {
        if ('reason' in row) throw new AppError('BAD_RECORD', { index, ...row }, { message: row.reason })
        if (row.origin !== except) yield row
      }
    },
  }
  return origin === undefined || others.length > 0 ? { rows } : { rows, origin }
}

/** Reads rows a part at a time, and checks their values. */
function* checkedRows(
  table: LoaderTable,
  { header, columns, origins, days, versions }: DecodedBatch,
  maxBytes: number,
): Generator<{ index: number; row: ReceivedRow | Omit<RefusedRow, 'index'> }> {
  const sent = new Map(header.columns.map((name, at) => [name, columns[at]]))
  const readers = table.columns.map((column) => ({ column, read: receiverOf(column) }))
  for (let from = 0; from < header.rows; from += PIECE_VALUES) {
    const to = Math.min(header.rows, from + PIECE_VALUES)
    const lines = readers.map((reader) => ({
      ...reader,
      line: sent.get(reader.column.name)?.slice(from, to),
    }))
    for (let index = from; index < to; index++) {
      const row = readRow(lines, index - from, maxBytes)
      // decoding counted them
      const [origin, day, version] = [origins[index], days[index], versions[index]] as [
        string,
        number,
        number,
      ]
      yield { index, row: 'reason' in row ? row : { origin, day, version, values: row.values } }
    }
  }
}

interface Line {
  readonly column: Column
  readonly read: (json: unknown) => Stored | ValueFault
  /** absent for a column that the sender does not send */
  readonly line: readonly unknown[] | undefined
}

function readRow(
  lines: readonly Line[],
  index: number,
  maxBytes: number,
): { values: Stored[] } | Omit<RefusedRow, 'index'> {
  const values: Stored[] = []
  for (const { column, read, line } of lines) {
    const value = read(line?.[index] ?? null)
    if (isFault(value))
      return { column: column.name, reason: `found ${value.found}, expected ${value.expected}` }
    values.push(value)
  }
  const [start, end] = [values[START], values[END]]
  if (typeof start === 'bigint' && typeof end === 'bigint' && start > end)
    return { column: 'end_datetime', reason: 'found an end before start_datetime, expected start ≤ end' }
  return sizeFault(values, (slot) => (lines[slot] as Line).column.name, maxBytes) ?? { values }
}
