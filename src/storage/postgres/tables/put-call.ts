import { randomUUID } from 'node:crypto'
import { utcDayOf } from '../../../datetime.js'
import type { Stored } from '../../columns/column-type.js'
import { storedBytes } from '../../columns/value-size.js'
import { badRecord, droppedMeanwhile, recordExists } from '../../records/read-records.js'
import type { CheckedRow } from '../../records/record.js'
import type { Counters, LoaderTable, PutOptions, TableRef } from '../../tables.js'
import type { Attempt, PostgresDb, Rows } from '../connection/database.js'
import type { Catalog } from './catalog.js'
import type { Origins } from './origins.js'
import type { NewRow, Outcome } from './plan-rows.js'
import type { Batch } from './read-batch.js'
import { createRowWriter, type RowWriter, type WriteMark } from './row-writer.js'
import { lockTable, type TableState } from './table-state.js'

/** Parts that the writes of one process depend on. */
export interface WriteContext {
  readonly db: PostgresDb
  readonly catalog: Catalog
  readonly origins: Origins
  /** id of this process, another one after each start */
  readonly writer: string
}

/** Most rows of one statement: it takes some milliseconds. */
export const CHUNK_ROWS = 500
/** Most bytes of the values of one statement, above which it gets no further row. */
export const CHUNK_BYTES = 4 * 1024 * 1024
/** Longest key that an index of PostgreSQL holds, less the other columns of its entry, bytes. */
const MAX_KEY_BYTES = 2600

/** Returns the table with the columns that it has now: another process may have added some. */
export async function currentTable(
  rows: Rows,
  catalog: Catalog,
  table: LoaderTable,
  state: TableState,
): Promise<LoaderTable> {
  if (table.columns.length === state.columnCount) return table
  const now = await catalog.findById(rows, table.tableId)
  if (now === undefined) throw droppedMeanwhile(table.dataName) // no test: the table is locked
  return now
}

/** Makes a row of this hub from a checked record. @throws AppError BAD_RECORD for a key that is too long */
export function toNewRow(
  table: LoaderTable,
  { values, box }: CheckedRow,
  day: number,
  index: number,
): NewRow {
  requireKeyFits(table, values, index)
  const added = table.columns.length - values.length
  const all = added === 0 ? values : [...values, ...new Array<null>(added).fill(null)]
  return { values: all, box, day, version: null }
}

/** @throws AppError BAD_RECORD for a key that the index cannot hold */
export function requireKeyFits(table: LoaderTable, values: readonly Stored[], index: number): void {
  let bytes = 0
  for (const name of table.uniqueColumns) {
    const slot = table.columns.findIndex((column) => column.name === name)
    bytes += storedBytes(values[slot])
    if (bytes <= MAX_KEY_BYTES) continue
    const reason = `found a key of ${bytes} bytes or more, expected at most ${MAX_KEY_BYTES}: an index of PostgreSQL holds no longer one`
    throw badRecord(index, { column: name, reason })
  }
}

/** Cuts rows into those of one statement each. An error of the rows comes behind the rows before it. */
export function* chunksOf(rows: Iterable<CheckedRow>): Generator<CheckedRow[]> {
  let chunk: CheckedRow[] = []
  let bytes = 0
  try {
    for (const row of rows) {
      chunk.push(row)
      for (const value of row.values) bytes += storedBytes(value)
      if (chunk.length < CHUNK_ROWS && bytes < CHUNK_BYTES) continue
      yield chunk
      chunk = []
      bytes = 0
    }
  } catch (error) {
    if (chunk.length > 0) yield chunk
    throw error
  }
  if (chunk.length > 0) yield chunk
}

/** Counts what became of rows. */
export function countOutcomes(outcomes: readonly Outcome[], before: Counters = NONE): Counters {
  let { upload, duplicate, insert, update } = before
  for (const outcome of outcomes) {
    upload++
    if (outcome === 'insert') insert++
    else duplicate++
    if (outcome === 'update') update++
  }
  return { upload, duplicate, insert, update }
}

const NONE: Counters = { upload: 0, duplicate: 0, insert: 0, update: 0 }

/**
 * Writes rows of one call in order.
 *
 * @throws AppError RECORD_EXISTS, `data.index` counts from `before.upload`
 */
export async function writeChunk(
  writer: RowWriter,
  table: LoaderTable,
  rows: readonly CheckedRow[],
  { env, before }: Pick<PutOptions, 'env'> & { before: Counters },
): Promise<Counters> {
  const day = utcDayOf(env.nowUs)
  const made = rows.map((row, at) => toNewRow(table, row, day, before.upload + at))
  const { outcomes, refused } = await writer.write(made)
  if (refused !== undefined)
    throw recordExists(table, rows[refused]?.values ?? [], before.upload + refused, env)
  return countOutcomes(outcomes, before)
}

/** Runs a write that is made once, also where the answer to its commit was lost and it is repeated. */
export async function writeOnce<T>(
  { db, writer }: Pick<WriteContext, 'db' | 'writer'>,
  table: TableRef,
  work: (rows: Rows, attempt: Attempt, mark: WriteMark) => Promise<T>,
  options: { first: string; canRepeat: boolean },
): Promise<T> {
  const mark = { writer, writeId: randomUUID() }
  let last: { readonly result: T } | undefined
  return await db.write(async (rows, attempt) => {
    if (attempt.isRepeat && last !== undefined) {
      await lockTable(rows, table) // the attempt before may be about to be committed
      if (await isWritten(rows, table, mark)) return last.result
    }
    const result = await work(rows, attempt, mark)
    last = { result }
    return result
  }, options)
}

async function isWritten(
  rows: Rows,
  { tableId }: TableRef,
  { writer, writeId }: WriteMark,
): Promise<boolean> {
  const sql = 'SELECT 1 FROM loader_writer WHERE table_id = $1 AND writer = $2 AND write_id = $3'
  return (await rows.get(sql, tableId, writer, writeId)) !== undefined
}

/** Table, state and options that a call writes with. */
export interface CallWriting {
  readonly table: LoaderTable
  readonly state: TableState
  readonly mark: WriteMark | undefined
  readonly options: PutOptions
}

/** Creates the writer of a call. */
export async function callWriter(
  rows: Rows,
  { origins }: Pick<WriteContext, 'origins'>,
  { table, state, mark, options }: CallWriting,
): Promise<RowWriter> {
  const originId = await origins.keep(rows, options.origin ?? '')
  return createRowWriter(rows, {
    ...{ table, state, originId, mark },
    senderId: null,
    onDuplicate: options.ifExists,
  })
}

/** True for a call of a table without files whose rows are all there, and which no key can fail. */
export function canJoin(table: LoaderTable, batch: Batch, { ifExists }: PutOptions): boolean {
  return (
    ifExists !== 'error' &&
    batch.isWhole() &&
    batch.fault() === undefined &&
    batch.rows.length <= CHUNK_ROWS &&
    table.columns.every(({ file }) => file === null)
  )
}
