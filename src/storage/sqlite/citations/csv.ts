import type { Geometry } from '../../../geo/types.js'
import { encodeWkt } from '../../../geo/wkt.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import type { StateColumn } from '../datasets/column.js'
import type { ExportedState } from './export.js'

/**
 * A state as CSV (RFC 4180): a line of names, then a line a row, CR LF. Null is nothing between the commas, an empty text
 * is `""`. Geometry is WKT, bytes and files are base64, JSON is its text, times are ISO 8601; every other value is what
 * `dataset.record.put` takes as a string.
 */
export async function* csvText({ columns, pages, env }: ExportedState): AsyncGenerator<string> {
  yield `${columns.map(({ name }) => quote(name)).join(',')}\r\n`
  for await (const rows of pages) {
    yield rows
      .map(
        ({ values }) =>
          `${columns.map((column, at) => field(column, values[at] as Stored, env)).join(',')}\r\n`,
      )
      .join('')
  }
}

function field(column: StateColumn, stored: Stored, env: ValueEnv): string {
  if (stored === null) return ''
  if (column.isFile) return Buffer.from(stored as Uint8Array).toString('base64')
  if (column.isEncrypted || column.udtName.startsWith('json')) return quote(stored as string)
  const printed = column.type.print(stored, env)
  return quote(column.srid === null ? String(printed) : encodeWkt(printed as Geometry))
}

/** Blanks at the ends are quoted too, because readers differ on them. */
function quote(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
