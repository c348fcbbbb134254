import type { Stored } from '../../columns/column-type.js'

/** Id of a matching row, and the values it is sorted by. */
interface SortRow {
  readonly rowId: number
  readonly keys: readonly Stored[]
}

/** Rows of one chunk, which is sorted in about 3 ms. */
const CHUNK_ROWS = 4096

/** Sorts rows without one long sort at the end. */
interface Sorter {
  add(row: SortRow): void
  /**
   * Returns the next row ids in order, at most `count`; empty at the end. No row may be added after the first
   * call.
   */
  take(count: number): number[]
}

/**
 * Creates a sorter that sorts chunks and merges them as rows are taken. Null is the greatest value, as in
 * PostgreSQL; ties are ordered by row id, ascending.
 *
 * @param descending direction of each key
 * @param most number of rows that will be taken; a small number limits the memory
 */
export function createSorter(descending: readonly boolean[], most: number): Sorter {
  const compare = (a: SortRow, b: SortRow): number => {
    for (const [at, isDescending] of descending.entries()) {
      const order = compareStored(a.keys[at] as Stored, b.keys[at] as Stored)
      if (order !== 0) return isDescending ? -order : order
    }
    return a.rowId - b.rowId
  }
  const chunks: SortRow[][] = []
  let open: SortRow[] = []
  let heap: Cursor[] | undefined

  const close = () => {
    open.sort(compare)
    const last = chunks.at(-1)
    // few rows are wanted: the others are dropped at once
    if (most <= CHUNK_ROWS && last !== undefined) chunks[0] = [...last, ...open].sort(compare).slice(0, most)
    else chunks.push(open)
    open = []
  }
  return {
    add(row) {
      open.push(row)
      if (open.length === CHUNK_ROWS) close()
    },
    take(count) {
      if (heap === undefined) {
        close()
        heap = makeHeap(chunks, compare)
      }
      const ids: number[] = []
      while (ids.length < count && heap.length > 0) ids.push(popLeast(heap, compare))
      return ids
    },
  }
}

/**
 * Compares two stored values of a column: numbers, then text (NaN in a float column), then bytes; null last.
 */
export function compareStored(a: Stored, b: Stored): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  const rank = rankOf(a) - rankOf(b)
  if (rank !== 0) return rank
  if (typeof a === 'string') return compareText(a, b as string)
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array)
  return a < (b as number) ? -1 : a > (b as number) ? 1 : 0
}

interface Cursor {
  chunk: readonly SortRow[]
  at: number
}

type Compare = (a: SortRow, b: SortRow) => number

/** Builds a binary heap of the chunks, ordered by the next row of each. O(chunks). */
function makeHeap(chunks: readonly SortRow[][], compare: Compare): Cursor[] {
  const heap = chunks.filter((chunk) => chunk.length > 0).map((chunk) => ({ chunk, at: 0 }))
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, at, compare)
  return heap
}

/** Takes the least row of all chunks. O(log chunks) comparisons. */
function popLeast(heap: Cursor[], compare: Compare): number {
  const top = heap[0] as Cursor
  const { rowId } = rowOf(top)
  top.at++
  // an exhausted chunk leaves the heap: the last cursor takes its place
  if (top.at === top.chunk.length) {
    const last = heap.pop() as Cursor
    if (heap.length > 0) heap[0] = last
  }
  sink(heap, 0, compare)
  return rowId
}

/** Moves a cursor down until neither of its children, at 2 · at + 1 and + 2, has a lesser row. */
function sink(heap: Cursor[], from: number, compare: Compare): void {
  for (let at = from; ; ) {
    const left = at * 2 + 1
    if (left >= heap.length) return
    const right = left + 1
    const isRightLess =
      right < heap.length && compare(rowOf(heap[right] as Cursor), rowOf(heap[left] as Cursor)) < 0
    const least = isRightLess ? right : left
    if (compare(rowOf(heap[at] as Cursor), rowOf(heap[least] as Cursor)) <= 0) return
    const swap = heap[at] as Cursor
    heap[at] = heap[least] as Cursor
    heap[least] = swap
    at = least
  }
}

function rowOf(cursor: Cursor): SortRow {
  return cursor.chunk[cursor.at] as SortRow
}

function rankOf(value: Exclude<Stored, null>): number {
  if (typeof value === 'string') return 1
  return value instanceof Uint8Array ? 2 : 0
}

/**
 * Compares by code points, as SQLite and PostgreSQL's "C" collation do; UTF-16 units differ beyond U+FFFF.
 */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const unitA = a.charCodeAt(at)
    const unitB = b.charCodeAt(at)
    if (unitA !== unitB) return fixed(unitA) - fixed(unitB)
  }
  return a.length - b.length
}

/** Moves surrogates after all other units: they encode characters beyond U+FFFF. */
function fixed(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
}
