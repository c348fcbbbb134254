import { type Cell, type CsvRow, createCsvParser } from '../csv.js'
import { decoded, type Encoding, markedEncoding } from '../encoding.js'
import { fileFault } from '../faults.js'
import { BATCH_ROWS, type FileChoices, type FileRow, type RowFile } from '../row-file.js'
import { findSeparator, SEPARATORS, type SeparatorName } from '../separator.js'
import type { ByteSource } from './bytes.js'

/** Characters in which the separator is searched for. */
const HEAD_CHARS = 256 * 1024

/**
 * Opens CSV text with a line of column names. An empty cell is null, `""` is empty text.
 *
 * @throws FileFault
 */
export async function openCsv(
  source: ByteSource,
  { encoding: chosen, separator: named }: FileChoices,
  isTsv: boolean,
): Promise<RowFile> {
  const encoding = chosen ?? (await encodingOf(source))
  const { head, isWhole } = await headOf(source, encoding)
  const separator = named ?? findSeparator(head, isWhole, isTsv)
  return {
    ...{ format: 'csv', places: 'lines', encoding, separator },
    batches: (onRead) => rowsOf(decoded(source.chunks(onRead), encoding), separator),
  }
}

/** Encoding that the file states, else UTF-8. */
export async function encodingOf(source: ByteSource): Promise<Encoding> {
  for await (const chunk of source.chunks()) return markedEncoding(chunk) ?? 'utf-8'
  return 'utf-8'
}

async function headOf(source: ByteSource, encoding: Encoding): Promise<{ head: string; isWhole: boolean }> {
  let head = ''
  for await (const text of decoded(source.chunks(), encoding)) {
    head += text
    if (head.length >= HEAD_CHARS) return { head, isWhole: false }
  }
  return { head, isWhole: true }
}

async function* rowsOf(
  texts: AsyncIterable<string>,
  separator: SeparatorName,
): AsyncGenerator<FileRow[], undefined> {
  const parser = createCsvParser(SEPARATORS[separator])
  let names: string[] | undefined
  let batch: FileRow[] = []
  const take = (rows: readonly CsvRow[]) => {
    for (const row of rows) {
      if (names === undefined) {
        if (isSeparatorLine(row)) continue
        names = namesOf(row.cells)
      } else batch.push(rowOf(names, row))
    }
  }
  for await (const text of texts) {
    take(parser.push(text))
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  take(parser.end())
  if (names === undefined) throw fileFault('EMPTY')
  if (batch.length > 0) yield batch
}

/** `sep=;`, a first line that spreadsheet programs write. */
function isSeparatorLine({ cells, line }: CsvRow): boolean {
  return line === 1 && /^sep=/.test(cells[0] ?? '') && cells.length <= 2
}

/** Names of the columns; an unnamed one is called by its position. @throws FileFault TWO_COLUMNS */
function namesOf(cells: readonly Cell[]): string[] {
  const names = cells.map((cell, at) => (cell ?? '').trim() || `column_${at + 1}`)
  const seen = new Set<string>()
  for (const name of names) {
    if (seen.has(name.toLowerCase())) throw fileFault('TWO_COLUMNS', { name: JSON.stringify(name) })
    seen.add(name.toLowerCase())
  }
  return names
}

function rowOf(names: readonly string[], { cells, line }: CsvRow): FileRow {
  if (cells.length !== names.length)
    throw fileFault('CELLS', { line, found: cells.length, expected: names.length })
  return { place: line, values: Object.fromEntries(names.map((name, at) => [name, cells[at] ?? null])) }
}
