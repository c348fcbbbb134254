/**
 * The last rows of a reading that begins at the end, as pages in ascending order.
 *
 * @param pages each ascending, the last one first; read until there are enough
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
