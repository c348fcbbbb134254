/**
 * The cells that meet a branch of a tree of boxes, branch by branch: below a branch only those that meet it are looked
 * at, so each cell is compared with the boxes around it and with no others, whatever the size of the map.
 *
 * Lists of cells lie one after the other as on a stack: that of a branch stands after that of the branch above it, and
 * is written over when the next one beside it is looked at. Within, cells are known by their **place** along a curve
 * through the plane, so that what is looked at together lies together in memory.
 */
export interface CellSieve {
  /** place → cell */
  readonly cells: Uint32Array
  /** place → west, south, east, north in whole 1e-7 degree, rounded inwards: boxes of roads are whole, so nothing is lost */
  readonly box: Int32Array
  /** lists of places; longer lists replace it. The first list goes from 0 to the number of cells */
  stack: Uint32Array
}

/** @param listed the cells that are looked for */
export function createCellSieve(boxes: readonly number[], listed: readonly number[]): CellSieve {
  const cells = alongCurve(boxes, listed)
  const count = cells.length
  const box = new Int32Array(count * 4)
  const stack = new Uint32Array(Math.max(1024, count * 2))
  for (let place = 0; place < count; place++) {
    const at = cells[place]! * 4
    box[place * 4] = within(Math.ceil(boxes[at]!))
    box[place * 4 + 1] = within(Math.ceil(boxes[at + 1]!))
    box[place * 4 + 2] = within(Math.floor(boxes[at + 2]!))
    box[place * 4 + 3] = within(Math.floor(boxes[at + 3]!))
    stack[place] = place
  }
  return { cells, box, stack }
}

/** Cells beyond the Earth are as good as at its edge. */
function within(e7: number): number {
  return Math.max(-0x80000000, Math.min(0x7fffffff, e7))
}

/** Squares a side of the grid whose squares the curve goes through, as bits of a number. */
const GRID_BITS = 8

/**
 * Sorts cells by the square that their south-western corner lies in: squares in the order of their interleaved bits.
 *
 * @see G. M. Morton, "A computer oriented geodetic data base and a new technique in file sequencing", 1966
 */
function alongCurve(boxes: readonly number[], listed: readonly number[]): Uint32Array {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const cell of listed) {
    west = Math.min(west, boxes[cell * 4]!)
    south = Math.min(south, boxes[cell * 4 + 1]!)
    east = Math.max(east, boxes[cell * 4]!)
    north = Math.max(north, boxes[cell * 4 + 1]!)
  }
  const last = 2 ** GRID_BITS - 1
  const perX = last / Math.max(east - west, 1)
  const perY = last / Math.max(north - south, 1)
  const square = new Uint16Array(listed.length)
  const first = new Uint32Array(2 ** (GRID_BITS * 2) + 1)
  for (let i = 0; i < listed.length; i++) {
    const at = listed[i]! * 4
    const x = ((boxes[at]! - west) * perX) | 0
    const y = ((boxes[at + 1]! - south) * perY) | 0
    square[i] = spread(x) | (spread(y) << 1)
    first[square[i]! + 1]!++
  }
  for (let i = 1; i < first.length; i++) first[i]! += first[i - 1]!
  const sorted = new Uint32Array(listed.length)
  for (let i = 0; i < listed.length; i++) sorted[first[square[i]!]!++] = listed[i]!
  return sorted
}

/** Puts a zero before each of eight bits. */
function spread(bits: number): number {
  const apart = (bits | (bits << 4)) & 0x0f0f
  const wide = (apart | (apart << 2)) & 0x3333
  return (wide | (wide << 1)) & 0x5555
}

/**
 * Lists those of a list whose box meets a box, touching included, in the same order.
 *
 * @param west in whole 1e-7 degree, and so the other sides
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
    const place = stack[at]!
    const side = place * 4
    if (box[side]! <= east && box[side + 2]! >= west && box[side + 1]! <= north && box[side + 3]! >= south)
      stack[top++] = place
  }
  return top
}

/** Twice as long as needed: a stack grows once or twice. */
function grown(stack: Uint32Array, needed: number): Uint32Array {
  const larger = new Uint32Array(needed * 2)
  larger.set(stack)
  return larger
}
