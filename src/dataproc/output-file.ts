import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { AppError, isAppError, messageOf } from '../errors.js'
import { csvRows, type Field } from '../storage/formats/read-csv.js'

/** Rows that are put at a time: memory does not grow with the file. */
const BATCH_ROWS = 1000
/** A row may hold a large polygon; one that is longer has a quote that is not closed. */
const MAX_ROW_CHARS = 16 * 1024 * 1024

/** A CSV file that a run put out. */
export interface OutputCsv {
  readonly names: readonly string[]
  readonly batches: AsyncIterable<Field[][]>
}

/** Rows a batch at a time. @throws AppError BAD_OUTPUT when there is no such file, or it is no CSV */
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
 * Opens no link, no pipe, no device: a run that puts one in the place of a file gets no say in what is read.
 *
 * @throws AppError BAD_OUTPUT when it is not there, or no regular file
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
  throw badOutput(label, 'found no regular file that can be read: no link, pipe or device is taken')
}

export function badOutput(label: string, reason: string): AppError {
  const shown = reason.slice(0, 500)
  return new AppError(
    'BAD_OUTPUT',
    { output: label, reason: shown },
    { message: `Output ${label}: ${shown}` },
  )
}
