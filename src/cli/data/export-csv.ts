import type { Geometry } from '../../geo/types.js'
import { encodeWkt } from '../../geo/wkt.js'
import type { Column, LoaderTable, TableRow } from '../../storage/tables.js'

/**
 * Yields records as CSV (RFC 4180) that `data import` reads: a line of names, then a line per record, ending
 * with CR LF. Geometries are WKT; null is an empty field, empty text is `""`; bytes and files are base64.
 */
export async function* csvLines(
  table: LoaderTable,
  pages: AsyncIterable<TableRow[]>,
): AsyncGenerator<string> {
  yield `${table.columns.map(({ name }) => quote(name)).join(',')}\r\n`
  for await (const page of pages) {
    yield page.map((row) => `${table.columns.map((column) => field(column, row)).join(',')}\r\n`).join('')
  }
}

function field({ name, udtName }: Column, { geometry, properties }: TableRow): string {
  const value = name === 'location' ? geometry : properties[name]
  if (value === null || value === undefined) return ''
  return quote(udtName === 'geometry' ? encodeWkt(value as Geometry) : String(value))
}

/** Quotes a field where needed, also for spaces at its ends, which some readers drop. */
function quote(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
