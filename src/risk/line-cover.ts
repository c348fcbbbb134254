import { cutsOfSegment, hasEdgeNear } from '../geo/cuts.js'
import { isInAreasHalfOpen } from '../geo/locate.js'
import { cutsOfRing, hasRingEdgeNear, isInRingHalfOpen, type Ring } from '../geo/ring.js'
import type { Shape } from '../geo/shape.js'
import type { CellSet } from './cell-set.js'

/** A line with its corners' distances from its beginning, and its box; all arrays are reused by the owner. */
export interface MeasuredLine {
  /** x, y, x, y …, 1e-7 degree */
  readonly xy: number[]
  /** corner → distance from the beginning, any unit */
  readonly offsets: number[]
  west: number
  south: number
  east: number
  north: number
}

/** Pairs of distances along a line, from and to, ascending and not touching each other; `ends` is never shortened. */
export interface Covered {
  /** numbers in use: two for each stretch */
  size: number
  readonly ends: number[]
}

/**
 * The covered of a line that lie in a cell.
 *
 * Cells are half-open: a line that runs along a border is in the cell to the east of it, or to the north, and so in
 * exactly one of two neighbours. A cell that is only touched covers nothing, for a stretch has a length.
 *
 * @param covered filled; reused by the caller
 */
export function coverLine(cells: CellSet, cell: number, line: MeasuredLine, covered: Covered): void {
  covered.size = 0
  const shape = cells.shape[cell]!
  if (shape === null) coverByRectangle(cells.box, cell * 4, line, covered)
  else if (isRing(shape)) {
    if (hasRingEdgeNear(shape, line.west, line.south, line.east, line.north))
      coverByRing(shape, cells.box, cell * 4, line, covered)
    else if (isInRingHalfOpen(shape, line.xy[0]!, line.xy[1]!)) addWhole(line, covered)
  } else if (hasEdgeNear(shape, line.west, line.south, line.east, line.north))
    coverByShape(shape, line, covered)
  else if (isInAreasHalfOpen(shape, line.xy[0]!, line.xy[1]!)) addWhole(line, covered)
}

/** A line that no border comes near, and whose first corner is inside, is inside. */
function addWhole({ offsets }: MeasuredLine, covered: Covered): void {
  add(covered, offsets[0]!, offsets[offsets.length - 1]!)
}

/** Half-open by comparisons alone: the western and southern border belong to the cell. */
function coverByRectangle(box: readonly number[], at: number, line: MeasuredLine, covered: Covered): void {
  const { xy, offsets } = line
  const west = box[at]!
  const south = box[at + 1]!
  const east = box[at + 2]!
  const north = box[at + 3]!
  const corners = offsets.length
  let ax = xy[0]!
  let ay = xy[1]!
  for (let corner = 1; corner < corners; corner++) {
    const bx = xy[corner * 2]!
    const by = xy[corner * 2 + 1]!
    // most pieces are wholly in or wholly beside the cell: no division is needed to see that
    if (
      ax >= west &&
      ax < east &&
      bx >= west &&
      bx < east &&
      ay >= south &&
      ay < north &&
      by >= south &&
      by < north
    )
      add(covered, offsets[corner - 1]!, offsets[corner]!)
    else if (
      !(
        (ax < west && bx < west) ||
        (ax >= east && bx >= east) ||
        (ay < south && by < south) ||
        (ay >= north && by >= north)
      )
    )
      clip(covered, offsets, corner, ax, ay, bx, by, west, south, east, north)
    ax = bx
    ay = by
  }
}

/** @see Y.-D. Liang, B. A. Barsky, "A new concept and method for line clipping", 1984 */
function clip(
  covered: Covered,
  offsets: readonly number[],
  corner: number,
  ax: number,
  ay: number,
  bx: number,
  by: number,
  west: number,
  south: number,
  east: number,
  north: number,
): void {
  const dx = bx - ax
  const dy = by - ay
  let low = 0
  let high = 1
  if (dx !== 0) {
    low = Math.max(low, ((dx > 0 ? west : east) - ax) / dx)
    high = Math.min(high, ((dx > 0 ? east : west) - ax) / dx)
  }
  if (dy !== 0) {
    low = Math.max(low, ((dy > 0 ? south : north) - ay) / dy)
    high = Math.min(high, ((dy > 0 ? north : south) - ay) / dy)
  }
  if (low < high) addFraction(covered, offsets, corner, low, high)
}

const cuts: number[] = []

/** Each piece of the line is cut wherever a border meets it; the middle of each part tells for the whole part. */
function coverByShape(shape: Shape, { xy, offsets }: MeasuredLine, covered: Covered): void {
  const corners = offsets.length
  for (let corner = 1; corner < corners; corner++) {
    const ax = xy[corner * 2 - 2]!
    const ay = xy[corner * 2 - 1]!
    const bx = xy[corner * 2]!
    const by = xy[corner * 2 + 1]!
    // none for a piece without extent: its one place tells
    let count = cutsOfSegment(shape, ax, ay, bx, by, cuts)
    if (count > 1) sortFirst(cuts, count)
    cuts[count++] = 1
    let low = 0
    for (let index = 0; index < count; index++) {
      const high = cuts[index]!
      if (high <= low) continue
      const middle = (low + high) / 2
      if (isInAreasHalfOpen(shape, ax + (bx - ax) * middle, ay + (by - ay) * middle))
        addFraction(covered, offsets, corner, low, high)
      low = high
    }
  }
}

/** The same for a ring. @param at of its box in `box` */
function coverByRing(
  ring: Ring,
  box: readonly number[],
  at: number,
  { xy, offsets }: MeasuredLine,
  covered: Covered,
): void {
  const corners = offsets.length
  const west = box[at]!
  const south = box[at + 1]!
  const east = box[at + 2]!
  const north = box[at + 3]!
  for (let corner = 1; corner < corners; corner++) {
    const ax = xy[corner * 2 - 2]!
    const ay = xy[corner * 2 - 1]!
    const bx = xy[corner * 2]!
    const by = xy[corner * 2 + 1]!
    const isApart =
      (ax < west && bx < west) ||
      (ax > east && bx > east) ||
      (ay < south && by < south) ||
      (ay > north && by > north)
    if (isApart) continue
    let count = cutsOfRing(ring, ax, ay, bx, by, cuts)
    if (count > 1) sortFirst(cuts, count)
    cuts[count++] = 1
    let low = 0
    for (let index = 0; index < count; index++) {
      const high = cuts[index]!
      if (high <= low) continue
      const middle = (low + high) / 2
      if (isInRingHalfOpen(ring, ax + (bx - ax) * middle, ay + (by - ay) * middle))
        addFraction(covered, offsets, corner, low, high)
      low = high
    }
  }
}

function isRing(shape: Shape | Ring): shape is Ring {
  return Array.isArray(shape)
}

/** The first `count` numbers, ascending; few as a rule. */
function sortFirst(numbers: number[], count: number): void {
  if (count > 32) {
    Float64Array.from(numbers.slice(0, count))
      .sort()
      .forEach((value, at) => {
        numbers[at] = value
      })
    return
  }
  for (let next = 1; next < count; next++) {
    const value = numbers[next]!
    let at = next
    for (; at > 0 && numbers[at - 1]! > value; at--) numbers[at] = numbers[at - 1]!
    numbers[at] = value
  }
}

/** Ends of a piece are taken as they are, so that the stretches of neighbours meet exactly. */
function addFraction(
  covered: Covered,
  offsets: readonly number[],
  corner: number,
  low: number,
  high: number,
): void {
  const start = offsets[corner - 1]!
  const length = offsets[corner]! - start
  add(covered, low <= 0 ? start : start + length * low, high >= 1 ? offsets[corner]! : start + length * high)
}

/** A stretch that begins where the one before ends makes it longer. */
function add(covered: Covered, from: number, to: number): void {
  const { size, ends } = covered
  if (size > 0 && ends[size - 1]! >= from) {
    ends[size - 1] = to
    return
  }
  ends[size] = from
  ends[size + 1] = to
  covered.size += 2
}
