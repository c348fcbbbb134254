import { missingFile, takenPlace } from '../../records/read-records.js'
import type { CheckedRow } from '../../records/record.js'
import { PREFIX_ID } from '../../records/record-files.js'
import type { Counters, LoaderTable, PutOptions } from '../../tables.js'
import { createPause } from '../../work/pause.js'
import type { Rows } from '../connection/database.js'
import { findFile, hasOtherFile, SHARE_FILES } from './files.js'
import {
  callWriter,
  chunksOf,
  countOutcomes,
  currentTable,
  type WriteContext,
  writeChunk,
  writeOnce,
} from './put-call.js'
import type { Batch } from './read-batch.js'
import { lockedState, lockSql, lockTable } from './table-state.js'

/**
 * Stores the rows of one call in a transaction of its own.
 *
 * @throws AppError BAD_RECORD, RECORD_EXISTS, UNKNOWN_TABLE, CANCELLED
 */
export async function putAlone(
  context: WriteContext,
  table: LoaderTable,
  batch: Batch,
  options: PutOptions,
): Promise<Counters> {
  const hasFiles = table.columns.some(({ file }) => file !== null)
  const settings = { first: hasFiles ? SHARE_FILES : lockSql(table), canRepeat: batch.isWhole() }
  return await writeOnce(
    context,
    table,
    async (rows, attempt, mark) => {
      // bytes first, before others are kept waiting: their keeping may take as long as an upload
      const kept = hasFiles ? await keepFiles(rows, batch.rows, options) : NO_FILES
      const state = hasFiles ? await lockTable(rows, table) : lockedState(table, attempt)
      const current = await currentTable(rows, context.catalog, table, state)
      const writing = { table: current, state, mark, options }
      const writer = await callWriter(rows, context, writing)
      const pause = createPause(undefined, options.sliceMs ?? Number.POSITIVE_INFINITY)
      let counters = countOutcomes([])
      for (const chunk of chunksOf(rowsOf(batch))) {
        options.throwIfCancelled?.()
        if (chunk.some(({ files }) => files.length > 0))
          counters = await writeFiles(rows, {
            table: current,
            writer,
            chunk,
            kept,
            options,
            before: counters,
          })
        else counters = await writeChunk(writer, current, chunk, { env: options.env, before: counters })
        await pause()
      }
      return counters
    },
    settings,
  )
}

/** Yields all rows of a call. @throws AppError BAD_RECORD after the rows before it */
function* rowsOf(batch: Batch): Generator<CheckedRow> {
  yield* batch.rows
  if (batch.fault() !== undefined) throw batch.fault()
  yield* batch.rest()
}

/** Digests by row and column. */
type KeptFiles = Map<CheckedRow, Map<number, string>>
const NO_FILES: KeptFiles = new Map()

async function keepFiles(rows: Rows, given: readonly CheckedRow[], options: PutOptions): Promise<KeptFiles> {
  const kept: KeptFiles = new Map()
  for (const row of given) {
    for (const part of row.files) {
      if (!('bytes' in part)) continue
      const digests = kept.get(row) ?? new Map<number, string>()
      kept.set(row, digests.set(part.slot, await options.putFile(part.bytes)))
      // the server ends a transaction that has nothing to do for long
      await rows.get('SELECT 1')
    }
  }
  return kept
}

interface FileChunk {
  readonly table: LoaderTable
  readonly writer: Parameters<typeof writeChunk>[0]
  readonly chunk: readonly CheckedRow[]
  readonly kept: KeptFiles
  readonly options: PutOptions
  readonly before: Counters
}

/** Writes rows one by one: the file of a record may be named by the path of the next one. */
async function writeFiles(
  rows: Rows,
  { table, writer, chunk, kept, options, before }: FileChunk,
): Promise<Counters> {
  let counters = before
  for (const row of chunk) {
    const index = counters.upload
    for (const part of row.files) {
      const digest =
        'bytes' in part
          ? (kept.get(row)?.get(part.slot) ?? (await options.putFile(part.bytes)))
          : await findFile(rows, table, { prefixId: PREFIX_ID, pathId: part.pathId, name: part.name })
      if (digest === undefined) throw missingFile(table, part.slot, index)
      row.values[part.slot] = digest
    }
    const { insert, update } = counters
    counters = await writeChunk(writer, table, [row], { env: options.env, before: counters })
    const isWritten = counters.insert + counters.update > insert + update
    if (isWritten && row.files.length > 0) await refuseTakenPlaces(rows, table, row, index)
  }
  return counters
}

/**
 * Refuses a file at a place that has other bytes, in this row or another one: only one of the two could be
 * read. Called after the row is written, so that the file that it replaces is gone.
 */
async function refuseTakenPlaces(
  rows: Rows,
  table: LoaderTable,
  row: CheckedRow,
  index: number,
): Promise<void> {
  const stored = (name: string) => row.values[table.columns.findIndex((column) => column.name === name)]
  for (const { slot } of row.files) {
    const file = table.columns[slot]?.file
    if (!file) continue // no test: a part has a file column
    const place = {
      prefixId: PREFIX_ID,
      pathId: String(stored(file.pathIdColumn)),
      name: String(stored(file.nameColumn)),
    }
    if (await hasOtherFile(rows, table, place, String(row.values[slot])))
      throw takenPlace(place, file.pathIdColumn, index)
  }
}
