import type { Statement } from './database.js'

/**
 * Bytes after which a page ends, whatever its rows: the page after a row of 100 MB is that row, and no page
 * holds two of them.
 */
export const PAGE_BYTES = 256 * 1024

/** Rows of one page, and where it stopped. */
export interface SomeRows<Row> {
  readonly rows: Row[]
  /** the row that was read last, also when it was not kept; undefined when there was none */
  readonly last: Row | undefined
  /** rows may follow: the page ended because it is large */
  readonly isCut: boolean
}

/**
 * Reads rows until they are many or large, and closes the statement.
 *
 * @param statement returns rows as arrays
 * @param keep decides which rows belong to the page
 */
export function readSome<Row extends readonly unknown[]>(
  statement: Statement,
  params: readonly unknown[],
  maxRows: number,
  keep: (row: Row) => boolean = () => true,
): SomeRows<Row> {
  const rows: Row[] = []
  let bytes = 0
  let last: Row | undefined
  // the caller knows the columns that the statement selects
  for (const row of statement.iterate(...params) as IterableIterator<Row>) {
    last = row
    if (!keep(row)) continue
    rows.push(row)
    bytes += bytesOf(row)
    if (rows.length >= maxRows || bytes >= PAGE_BYTES) return { rows, last, isCut: true }
  }
  return { rows, last, isCut: false }
}

/**
 * Reads rows by their ids, page by page, in the order of the ids.
 *
 * @param statement binds a JSON array of ids first, and returns the row id as first column
 */
export function* readByIds<Row extends readonly unknown[]>(
  statement: Statement,
  ids: ArrayLike<number>,
  params: (idsJson: string) => readonly unknown[],
  { maxRows, keep }: { maxRows: number; keep?: (row: Row) => boolean },
): Generator<Row[]> {
  const all = Array.from(ids)
  for (let from = 0; from < all.length; ) {
    const some = all.slice(from, from + maxRows)
    const { rows, last, isCut } = readSome<Row>(statement, params(JSON.stringify(some)), maxRows, keep)
    yield rows
    from += isCut && last !== undefined ? some.indexOf(Number(last[0])) + 1 : some.length
  }
}

/** Memory of the values of a row, about. */
function bytesOf(row: readonly unknown[]): number {
  let bytes = 0
  for (const value of row) {
    if (typeof value === 'string') bytes += value.length
    else bytes += value instanceof Uint8Array ? value.byteLength : 8
  }
  return bytes
}
