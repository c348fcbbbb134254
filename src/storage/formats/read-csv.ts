import { createReadStream } from 'node:fs'
import type { StateColumn } from '../columns/state-column.js'
import type { ImportFile } from './import-file.js'
import { parseJson } from './read-description.js'

/** Opens a CSV file with a line of column names (RFC 4180). An empty field is null, `""` an empty text. */
export async function openCsv(file: string): Promise<ImportFile> {
  const rows = csvRows(chunksOf(file))
  const head = await rows.next()
  if (head.done === true) throw new Error(`${file} is empty, expected a line of column names`)
  const names = head.value.map((name) => name ?? '')
  return {
    columns: undefined,
    keyColumns: [],
    async *records(columns) {
      const unknown = names.find((name) => !columns.some((column) => column.name === name))
      if (unknown !== undefined)
        throw new Error(`${file} has the column ${JSON.stringify(unknown)}, which the dataset lacks`)
      const slots = columns.map((column) => ({ column, slot: names.indexOf(column.name) }))
      let line = 1
      for await (const row of rows) {
        line++
        if (row.length !== names.length)
          throw new Error(`${file}, record ${line}: found ${row.length} values, expected ${names.length}`)
        yield slots.map(({ column, slot }) =>
          importedValue(column, row[slot] ?? null, `${file}, record ${line}, column ${column.name}`),
        )
      }
    },
    close: () => void rows.return(undefined),
  }
}

function importedValue({ udtName }: StateColumn, text: string | null, where: string): unknown {
  return text !== null && udtName.startsWith('json') ? parseJson(text, where, 'a JSON value') : text
}

async function* chunksOf(file: string): AsyncGenerator<string> {
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) yield chunk as string
}

/** Field of a row; null when it is empty without quotes. */
export type Field = string | null

/**
 * Yields the rows of CSV text that arrives in pieces. Memory: one row and one piece.
 *
 * @param maxRowChars longest row; an unclosed quote would otherwise collect the whole file
 * @throws Error for malformed CSV
 */
export async function* csvRows(
  chunks: AsyncIterable<string>,
  maxRowChars = Number.POSITIVE_INFINITY,
): AsyncGenerator<Field[], undefined, undefined> {
  let rest = ''
  let isFirst = true
  for await (const chunk of chunks) {
    rest += isFirst ? chunk.replace(/^\uFEFF/, '') : chunk
    isFirst = false
    for (let end = rowEnd(rest); end !== -1; end = rowEnd(rest)) {
      yield fieldsOf(rest.slice(0, end))
      rest = rest.slice(end).replace(/^\r?\n/, '')
    }
    if (rest.length > maxRowChars)
      throw new Error(
        `found a row of more than ${maxRowChars} characters, expected less; a quote may be unclosed`,
      )
  }
  if (rest !== '') yield fieldsOf(rest.replace(/\r$/, ''))
}

/** Returns the end of the first row, -1 when the text ends within it. */
function rowEnd(text: string): number {
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE)
      isQuoted = !isQuoted // a doubled quote toggles twice
    else if (char === LF && !isQuoted) return text.charCodeAt(at - 1) === CR ? at - 1 : at
  }
  return -1
}

const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d

function fieldsOf(row: string): Field[] {
  const fields: Field[] = []
  const form = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/gy
  for (;;) {
    const match = form.exec(row)
    if (match === null)
      throw new Error(`found ${JSON.stringify(row.slice(0, 60))}, expected values between commas`)
    const [, quoted, plain = '', end] = match
    fields.push(quoted === undefined ? (plain === '' ? null : plain) : quoted.replaceAll('""', '"'))
    if (end === '') return fields
  }
}
