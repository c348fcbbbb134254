import type { Stored } from '../../columns/column-type.js'

/** Id of a matching row, and the values it is sorted by. */
interface SortRow {
  readonly rowId: number
  readonly keys: readonly Stored[]
}

/** Rows of one chunk, which is sorted in about 3 ms. */
const CHUNK_ROWS = 4096
/**
 * Memory of the rows that a sorter holds, by `bytesOf`: about 100,000 rows with a number each. Several reads
 * sort at the same time.
 */
const SORT_BYTES = 16 * 1024 * 1024
/** Memory of a chunk: with large keys it has fewer rows. */
const CHUNK_BYTES = SORT_BYTES / 16

/** Sorts rows without one long sort at the end, in bounded memory. */
export interface Sorter {
  add(row: SortRow): void
  /**
   * Returns the next row ids in order, at most `count`; empty when no more are held. No row may be added after
   * the first call.
   */
  take(count: number): number[]
  /**
   * Prepares for the rows that did not fit: all rows must be added again, and those that were taken are
   * skipped.
   *
   * @returns false when there are none: every row was taken
   */
  again(): boolean
}

/**
 * Creates a sorter that sorts chunks and merges them as rows are taken. Null is the greatest value, as in
 * PostgreSQL; ties are ordered by row id, ascending. When the rows do not fit into `maxBytes`, the least ones
 * are kept and the others come in further passes.
 *
 * @param descending direction of each key
 * @param most number of rows that will be taken; a small number limits the memory
 */
export function createSorter(
  descending: readonly boolean[],
  most: number,
  maxBytes: number = SORT_BYTES,
): Sorter {
  const compare = comparing(descending)
  const held: Held = { chunks: [], bytes: 0, cutoff: undefined, isCut: false }
  let open: SortRow[] = []
  let openBytes = 0
  let heap: Cursor[] | undefined
  /** greatest row of the passes before */
  let floor: SortRow | undefined

  const close = () => {
    if (open.length === 0) return
    addChunk(held, open.sort(compare), { most, compare })
    open = []
    openBytes = 0
    while (held.bytes > maxBytes && cutHalf(held, compare)) held.isCut = true
  }
  return {
    add(row) {
      if (floor !== undefined && compare(row, floor) <= 0) return
      if (held.cutoff !== undefined && compare(row, held.cutoff) > 0) {
        held.isCut = true
        return
      }
      open.push(row)
      openBytes += bytesOf(row)
      if (open.length === CHUNK_ROWS || openBytes > Math.min(CHUNK_BYTES, maxBytes)) close()
    },
    take(count) {
      if (heap === undefined) {
        close()
        heap = makeHeap(held.chunks, compare)
      }
      const ids: number[] = []
      while (ids.length < count && heap.length > 0) ids.push(popLeast(heap, compare))
      return ids
    },
    again() {
      if (!held.isCut) return false
      floor = held.cutoff
      Object.assign(held, { chunks: [], bytes: 0, cutoff: undefined, isCut: false })
      heap = undefined
      return true
    },
  }
}

/**
 * Returns the next row ids in order, at most `count`; empty at the end.
 *
 * @param scan adds all rows to the sorter; called again for rows that did not fit
 */
export async function takeSorted(
  sorter: Sorter,
  scan: () => Promise<void>,
  count: number,
): Promise<number[]> {
  let ids = sorter.take(count)
  while (ids.length === 0 && sorter.again()) {
    await scan()
    ids = sorter.take(count)
  }
  return ids
}

/** Closed chunks of a sorter. */
interface Held {
  chunks: SortRow[][]
  bytes: number
  /** no row behind this one is kept */
  cutoff: SortRow | undefined
  /** rows behind `cutoff` were left out */
  isCut: boolean
}

/** Adds a sorted chunk. Where few rows are wanted, there is one chunk, and others are dropped at once. */
function addChunk(held: Held, chunk: SortRow[], { most, compare }: { most: number; compare: Compare }): void {
  const [only] = held.chunks
  if (most > CHUNK_ROWS || only === undefined) held.chunks.push(chunk)
  else held.chunks[0] = [...only, ...chunk].sort(compare)
  const first = held.chunks[0] as SortRow[]
  if (most <= CHUNK_ROWS && first.length > most) first.length = most
  held.bytes = most > CHUNK_ROWS ? held.bytes + sumOf(chunk) : sumOf(first)
}

/**
 * Leaves out the rows behind the middle row of the middle chunk: at least a quarter of all. O(chunks) and a
 * binary search in each.
 *
 * @returns false when one row is left, which is kept however large it is
 */
function cutHalf(held: Held, compare: Compare): boolean {
  const middles = held.chunks
    .map((chunk) => ({ row: chunk[(chunk.length - 1) >> 1] as SortRow, rows: chunk.length }))
    .sort((a, b) => compare(a.row, b.row))
  const all = middles.reduce((sum, { rows }) => sum + rows, 0)
  if (all <= 1) return false
  let seen = 0
  const cutoff = middles.find(({ rows }) => {
    seen += rows
    return seen * 2 >= all
  })?.row as SortRow // the last middle at the latest
  for (const chunk of held.chunks) chunk.length = countUpTo(chunk, cutoff, compare)
  held.chunks = held.chunks.filter((chunk) => chunk.length > 0)
  held.bytes = held.chunks.reduce((sum, chunk) => sum + sumOf(chunk), 0)
  held.cutoff = cutoff
  return true
}

/** Returns the number of rows of a sorted chunk that are not behind a row. */
function countUpTo(chunk: readonly SortRow[], row: SortRow, compare: Compare): number {
  let [low, high] = [0, chunk.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(chunk[middle] as SortRow, row) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

function sumOf(rows: readonly SortRow[]): number {
  let bytes = 0
  for (const row of rows) bytes += bytesOf(row)
  return bytes
}

/** Memory of a row in V8, about: two objects, and each key. */
function bytesOf({ keys }: SortRow): number {
  let bytes = 96
  for (const key of keys) {
    if (typeof key === 'string') bytes += 32 + key.length * 2
    else bytes += key instanceof Uint8Array ? 100 + key.byteLength : 32
  }
  return bytes
}

function comparing(descending: readonly boolean[]): Compare {
  return (a, b) => {
    for (const [at, isDescending] of descending.entries()) {
      const order = compareStored(a.keys[at] as Stored, b.keys[at] as Stored)
      if (order !== 0) return isDescending ? -order : order
    }
    return a.rowId - b.rowId
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
