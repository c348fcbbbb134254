import { grown } from './grown.js'

/**
 * Cells that meet a branch of a tree of boxes, branch by branch. Below a branch only the cells that meet it
 * are compared, so each cell is compared with the boxes around it and no others, whatever the size of the
 * map.
 *
 * Lists of cells lie on a stack: the list of a branch follows that of the branch above it, and is overwritten
 * by that of the next sibling. A list holds the **place** of each cell along a space-filling curve, so that
 * cells that are compared together lie together in memory.
 */
export interface CellSieve {
  /** place → cell */
  readonly cells: Uint32Array
  /**
   * place → west, south, east, north; whole 1e-7 degree, rounded inwards: boxes of roads are whole, so this
   * is exact
   */
  readonly box: Int32Array
  /** lists of places, replaced when they need more room. The first list goes from 0 to the number of cells */
  stack: Uint32Array
}

/**
 * Creates a sieve whose first list holds all of its cells. Cost: linear in the cells.
 *
 * @param boxes cell → west, south, east, north, 1e-7 degree
 * @param listed cells that the sieve holds
 */
export function createCellSieve(boxes: Float64Array, listed: readonly number[]): CellSieve {
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

/** Clamps a coordinate to 32 bits, which hold all coordinates on Earth (±1.8e9). */
function within(e7: number): number {
  return Math.max(-0x80000000, Math.min(0x7fffffff, e7))
}

/** The curve runs through a grid of 2^8 × 2^8 squares. */
const GRID_BITS = 8

/**
 * Sorts cells by the square of their south-western corner; squares are in Morton order (interleaved bits).
 * Counting sort, linear.
 *
 * @see G. M. Morton, "A computer oriented geodetic data base and a new technique in file sequencing", 1966
 */
function alongCurve(boxes: Float64Array, listed: readonly number[]): Uint32Array {
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

/** Puts a zero bit before each of eight bits. */
function spread(bits: number): number {
  const apart = (bits | (bits << 4)) & 0x0f0f
  const wide = (apart | (apart << 2)) & 0x3333
  return (wide | (wide << 1)) & 0x5555
}

/**
 * Lists those cells of a list whose box meets another box, touching included, in the same order.
 *
 * @param from begin of the list on the stack; it ends before `end`
 * @param boxes west, south, east, north of boxes, whole 1e-7 degree
 * @param at index in `boxes` of the box to compare with
 * @returns end of the new list, which begins at `end`
 */
export function siftCells(
  sieve: CellSieve,
  from: number,
  end: number,
  boxes: Int32Array,
  at: number,
): number {
  const west = boxes[at]!
  const south = boxes[at + 1]!
  const east = boxes[at + 2]!
  const north = boxes[at + 3]!
  if (end + end - from > sieve.stack.length) sieve.stack = grown(sieve.stack, (end + end - from) * 2)
  const { box, stack } = sieve
  let top = end
  for (let listed = from; listed < end; listed++) {
    const place = stack[listed]!
    const side = place * 4
    if (box[side]! <= east && box[side + 2]! >= west && box[side + 1]! <= north && box[side + 3]! >= south)
      stack[top++] = place
  }
  return top
}
