import type { Geometry } from '../../geo/types.js'
import { encodeWkt } from '../../geo/wkt.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import type { StateColumn } from '../columns/state-column.js'
import type { ExportedState } from './exported-state.js'

/**
 * Yields rows as CSV (RFC 4180): a line of column names, then one line per row, each ended by CR LF. Null is
 * an empty field, an empty text is `""`. Geometry is WKT, bytes and files are base64, JSON is its text, times
 * are ISO 8601; every other value has the form in which `dataset.record.put` takes it as a string.
 */
export async function* csvText({ columns, pages, env }: ExportedState): AsyncGenerator<string> {
  yield `${columns.map(({ name }) => quote(name)).join(',')}\r\n`
  for await (const rows of pages) {
    yield rows
      .map(
        ({ values }) =>
          `${columns.map((column, at) => field(column, values[at] ?? null, env)).join(',')}\r\n`,
      )
      .join('')
  }
}

function field(column: StateColumn, stored: Stored, env: ValueEnv): string {
  if (stored === null) return ''
  if (column.isFile && stored instanceof Uint8Array) return Buffer.from(stored).toString('base64')
  if (column.isEncrypted || column.udtName.startsWith('json')) return quote(String(stored))
  const printed = column.type.print(stored, env)
  return quote(column.srid === null ? String(printed) : encodeWkt(printed as Geometry)) // a geometry prints as GeoJSON
}

/** White space at either end is quoted too, because readers differ in what they do with it. */
function quote(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
