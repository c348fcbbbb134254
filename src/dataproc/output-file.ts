import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { AppError, isAppError, messageOf } from '../errors.js'
import { csvRows, type Field } from '../storage/formats/read-csv.js'

/** Rows of a batch: memory does not grow with the file. */
const BATCH_ROWS = 1000
/** Longest row. It may hold a large polygon; a longer one has an unclosed quote. */
const MAX_ROW_CHARS = 16 * 1024 * 1024

/** CSV file that a run wrote. */
interface OutputCsv {
  readonly names: readonly string[]
  readonly batches: AsyncIterable<Field[][]>
}

/** Opens a CSV file. @throws AppError BAD_OUTPUT, also from the batches, when it is missing or malformed */
export async function openCsvOutput(label: string, file: string): Promise<OutputCsv> {
  const rows = rowsOf(label, file)
  const head = await rows.next()
  if (head.done === true) throw badOutput(label, 'is empty, expected a line of column names')
  const names = head.value.map((name) => name ?? '')
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw badOutput(label, `has two columns ${JSON.stringify(twice)}`)
  return { names, batches: batchesOf(label, rows, names.length) }
}

async function* batchesOf(
  label: string,
  rows: AsyncGenerator<Field[]>,
  width: number,
): AsyncGenerator<Field[][]> {
  let batch: Field[][] = []
  let record = 0
  for await (const row of rows) {
    if (row.length === 1 && row[0] === null && width > 1) continue // a blank line
    record++
    if (row.length !== width)
      throw badOutput(label, `record ${record}: found ${row.length} values, expected ${width}`)
    if (batch.push(row) < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function* rowsOf(label: string, file: string): AsyncGenerator<Field[]> {
  const handle = await openRegular(label, file)
  try {
    yield* csvRows(textOf(handle.createReadStream({ autoClose: false })), MAX_ROW_CHARS)
  } catch (error) {
    throw isAppError(error) ? error : badOutput(label, messageOf(error))
  } finally {
    await handle.close()
  }
}

async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

/**
 * Opens a regular file for reading. Links, pipes and devices are refused: with them a run could choose what
 * the gateway reads.
 *
 * @throws AppError BAD_OUTPUT when the file is missing or not a regular file
 */
export async function openRegular(label: string, file: string) {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if ((await handle.stat()).isFile()) return handle
    await handle.close()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') throw badOutput(label, 'was not written')
    if (code !== 'ELOOP' && code !== 'ENXIO' && code !== 'EACCES') throw error
  }
  throw badOutput(label, 'is not a readable regular file; links, pipes and devices are refused')
}

/** Returns the error of an output that cannot be used. */
export function badOutput(label: string, reason: string): AppError {
  const shown = reason.slice(0, 500)
  return new AppError(
    'BAD_OUTPUT',
    { output: label, reason: shown },
    { message: `Output ${label}: ${shown}` },
  )
}
