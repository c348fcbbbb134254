import type { TableRow } from './tables.js'

/**
 * Yields a page with a large row, and lets go of its values when the next page is asked for: those who took it
 * still hold it then, and two rows of the largest size are more than a thread may hold.
 */
export function* handOver(page: TableRow[]): Generator<TableRow[]> {
  yield page
  const rows: { -readonly [K in keyof TableRow]: TableRow[K] }[] = page
  for (const row of rows) {
    row.geometry = null
    row.properties = {}
  }
}
