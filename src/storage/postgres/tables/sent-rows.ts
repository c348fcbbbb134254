import type { Stored } from '../../columns/column-type.js'
import { storedBytes } from '../../columns/value-size.js'
import { placeOf } from '../../records/place.js'
import { badRecord } from '../../records/read-records.js'
import { END, LOCATION, START } from '../../records/record-plan.js'
import type { LoaderTable } from '../../tables.js'
import type { Pause } from '../../work/pause.js'
import type { Rows } from '../connection/database.js'
import type { Origins } from './origins.js'
import type { NewRow } from './plan-rows.js'
import { CHUNK_BYTES, requireKeyFits } from './put-call.js'
import { createRowWriter } from './row-writer.js'
import type { TableState } from './table-state.js'

/**
 * Most rows of one statement. Batches of feeds take turns at a table, and each statement is planned and answered while
 * the others wait: 2,000 rows instead of 500 take a tenth less.
 */
const STATEMENT_ROWS = 2000

/** A row, its values checked. */
interface SentRow {
  /** UTC day of its last write at its origin */
  readonly day: number
  /** version at its origin; 0 where it is not known */
  readonly version: number
  readonly values: readonly Stored[]
}

/** Rows of one origin. */
export interface SentRows {
  /** UUID of the node at which they were first put */
  readonly origin: string
  /** UUID of the node that sent them */
  readonly sender: string
  readonly rows: Iterable<SentRow>
}

/** Table and state that rows of another node are written with. */
interface SentRowsContext {
  /** the table as it is, with all of its columns */
  readonly table: LoaderTable
  /** from `lockTable`, or of an earlier call in the transaction */
  readonly state: TableState
  readonly origins: Origins
}

/**
 * Stores rows that other nodes sent: they override those with the same key and origin unless these are newer, and
 * equal ones are left as they are. Rows of several nodes share a statement. The caller has begun a transaction and
 * locked the table (`lockTable`).
 *
 * @returns number of rows that were written, for each set of them, and the state for the next call in the transaction
 * @throws AppError BAD_RECORD for a row that PostgreSQL cannot hold: a key that is too long, U+0000 in a text
 */
export async function putSentTogether(
  rows: Rows,
  { table, state, origins }: SentRowsContext,
  sets: readonly SentRows[],
  pause: Pause = () => undefined,
): Promise<{ written: number[]; state: TableState }> {
  const writer = createRowWriter(rows, { table, state, originId: 0, senderId: null, onDuplicate: 'news' })
  const written = sets.map(() => 0)
  let chunk: { row: NewRow; set: number }[] = []
  let bytes = 0
  const flush = async () => {
    const { outcomes } = await writer.write(chunk.map(({ row }) => row))
    for (const [at, outcome] of outcomes.entries()) {
      const set = chunk[at]?.set ?? 0 // there is an outcome for each
      if (outcome !== 'skip') written[set] = (written[set] ?? 0) + 1
    }
    chunk = []
    bytes = 0
    await pause()
  }
  for (const [set, { origin, sender, rows: sent }] of sets.entries()) {
    const from = { originId: await origins.keep(rows, origin), senderId: await origins.keep(rows, sender) }
    let index = 0
    for (const row of sent) {
      chunk.push({ set, row: { ...toNewRow(table, row, index++), from } })
      for (const value of row.values) bytes += storedBytes(value)
      if (chunk.length === STATEMENT_ROWS || bytes >= CHUNK_BYTES) await flush()
    }
  }
  if (chunk.length > 0) await flush()
  return { written, state: writer.state() }
}

/** Stores rows of one origin, as `putSentTogether` does. */
export async function putSentRows(
  rows: Rows,
  context: SentRowsContext,
  sent: SentRows,
  pause?: Pause,
): Promise<{ written: number; state: TableState }> {
  const { written, state } = await putSentTogether(rows, context, [sent], pause)
  return { written: written[0] ?? 0, state }
}

function toNewRow(table: LoaderTable, { values, day, version }: SentRow, index: number): NewRow {
  requireKeyFits(table, values, index)
  const slot = values.findIndex((value) => typeof value === 'string' && value.includes('\0'))
  if (slot >= 0) {
    const reason = 'found the character U+0000, expected a string without it (text cannot hold it)'
    throw badRecord(index, { column: table.columns[slot]?.name ?? null, reason })
  }
  const [box] = placeOf({
    location: values[LOCATION] as Uint8Array | null,
    start_datetime: values[START] as bigint | null,
    end_datetime: values[END] as bigint | null,
  })
  return { values, box, day, version }
}
