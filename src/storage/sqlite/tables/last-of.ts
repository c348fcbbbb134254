/**
 * Yields the last rows of pages that are read from the end, in ascending order.
 *
 * @param pages last page first, each in ascending order; read until `limit` rows are there
 */
export async function* lastOf<Row>(
  pages: AsyncGenerator<Row[]>,
  limit: number,
  pageRows: number,
): AsyncGenerator<Row[]> {
  const kept: Row[][] = []
  let count = 0
  for await (const rows of pages) {
    kept.push(rows)
    count += rows.length
    if (count >= limit) break
  }
  const rows = kept.reverse().flat()
  const first = Math.max(0, rows.length - limit)
  for (let at = first; at < rows.length; at += pageRows) yield rows.slice(at, at + pageRows)
}
