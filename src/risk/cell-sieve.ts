/**
 * The cells that meet a branch of a tree of boxes, branch by branch: below a branch only those that meet it are looked
 * at, so each cell is compared with the boxes around it and with no others, whatever the size of the map.
 *
 * Lists of cells lie one after the other as on a stack: that of a branch stands after that of the branch above it, and
 * is written over when the next one beside it is looked at.
 */
export interface CellSieve {
  /** cell → west, south, east, north */
  readonly box: Float64Array
  /** lists of cells; longer lists replace it */
  stack: Uint32Array
  /** the first list goes from 0 to here: all cells that are looked for */
  readonly count: number
}

/** @param cells that are looked for */
export function createCellSieve(box: readonly number[], cells: readonly number[]): CellSieve {
  const stack = new Uint32Array(Math.max(1024, cells.length * 2))
  stack.set(cells)
  return { box: new Float64Array(box), stack, count: cells.length }
}

/**
 * Lists the cells of a list whose box meets a box, touching included, in the same order.
 *
 * @param from of the list, which ends before `end`
 * @returns the end of the new list, which begins at `end`
 */
export function siftCells(
  sieve: CellSieve,
  from: number,
  end: number,
  west: number,
  south: number,
  east: number,
  north: number,
): number {
  if (end + end - from > sieve.stack.length) sieve.stack = grown(sieve.stack, end + end - from)
  const { box, stack } = sieve
  let top = end
  for (let at = from; at < end; at++) {
    const cell = stack[at]!
    const place = cell * 4
    if (
      box[place]! <= east &&
      box[place + 2]! >= west &&
      box[place + 1]! <= north &&
      box[place + 3]! >= south
    )
      stack[top++] = cell
  }
  return top
}

/** Twice as long as needed: a stack grows once or twice. */
function grown(stack: Uint32Array, needed: number): Uint32Array {
  const larger = new Uint32Array(needed * 2)
  larger.set(stack)
  return larger
}
