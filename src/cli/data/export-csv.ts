import type { Geometry } from '../../geo/types.js'
import { encodeWkt } from '../../geo/wkt.js'
import type { Column, LoaderTable, TableRow } from '../../storage/tables.js'

/**
 * Records as CSV (RFC 4180) that `data import` reads again: a line of names, then a line a record, CR LF. The place is WKT in
 * the column `location`; null is nothing between the commas, an empty text is `""`; bytes and files are base64.
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

/** Blanks at the ends are quoted too, because readers differ on them. */
function quote(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
