import { createSegmentCuts, cutByBorders, hasEdgeNear, type SegmentCuts } from '../geo/cuts.js'
import { isInAreaHalfOpen } from '../geo/locate.js'
import { type Area, isRing, type Ring } from '../geo/ring.js'
import type { Extent } from '../geo/types.js'
import { areaOf, type CellSet, createRing } from './cell-set.js'

/** A line with the distances of its corners from its beginning, and its box. The owner reuses the arrays. */
export interface MeasuredLine extends Extent {
  corners: number
  /** x, y, x, y …, 1e-7 degree; may be longer than the line */
  xy: Float64Array
  /** corner → distance from the beginning, in a unit that the caller chooses; may be longer than the line */
  offsets: Float64Array
  west: number
  south: number
  east: number
  north: number
}

/**
 * Stretches of a line that lie inside a cell, with the working memory of `coverLine`. Reused from call to
 * call.
 */
export interface Covered {
  /** numbers in use: two for each stretch */
  size: number
  /**
   * from, to, from, to …: distances along the line, ascending, stretches apart from each other; never
   * shortened
   */
  readonly ends: number[]
  /** working memory */
  readonly cuts: SegmentCuts
  readonly ring: Ring
  /** called before each step that may take long, for areas of many corners; throws when the work must end */
  throwIfEnded(): void
}

/** Returns an empty `Covered` for `coverLine`. */
export function createCovered(throwIfEnded: () => void = () => undefined): Covered {
  return { size: 0, ends: [], cuts: createSegmentCuts(), ring: createRing(), throwIfEnded }
}

/**
 * Finds the stretches of a line that lie inside a cell.
 *
 * Cells are half-open: a line along a border is inside the cell to the east of it, or to the north, and so
 * inside exactly one of two neighbours. A cell that the line only touches covers nothing, because a stretch
 * has a length.
 *
 * @param cell index in `cells`
 * @param covered receives the stretches, in the unit of `line.offsets`
 */
export function coverLine(cells: CellSet, cell: number, line: MeasuredLine, covered: Covered): void {
  const { xy, offsets, corners } = line
  covered.size = 0
  const area = areaOf(cells, cell, covered.ring)
  if (area === undefined) coverByRectangle(cells.box, cell * 4, line, covered)
  else if (hasEdgeNear(area, line)) coverByArea(area, cells.box, cell * 4, line, covered)
  // no border comes near the line: it is inside when its first corner is
  else if (isInAreaHalfOpen(area, xy[0]!, xy[1]!)) add(covered, offsets[0]!, offsets[corners - 1]!)
}

/**
 * Stretches inside a rectangle along the axes. Half-open by comparisons alone: the western and the southern
 * border belong to the rectangle.
 *
 * @param at index of its west side in `box`; south, east and north follow
 */
function coverByRectangle(box: Float64Array, at: number, line: MeasuredLine, covered: Covered): void {
  const { xy, offsets, corners } = line
  const west = box[at]!
  const south = box[at + 1]!
  const east = box[at + 2]!
  const north = box[at + 3]!
  let ax = xy[0]!
  let ay = xy[1]!
  for (let corner = 1; corner < corners; corner++) {
    const bx = xy[corner * 2]!
    const by = xy[corner * 2 + 1]!
    const isInside =
      ax >= west &&
      ax < east &&
      bx >= west &&
      bx < east &&
      ay >= south &&
      ay < north &&
      by >= south &&
      by < north
    const isBeside =
      (ax < west && bx < west) ||
      (ax >= east && bx >= east) ||
      (ay < south && by < south) ||
      (ay >= north && by >= north)
    // most segments are wholly inside or wholly beside the cell, which is known without a division
    if (isInside) add(covered, offsets[corner - 1]!, offsets[corner]!)
    else if (!isBeside) clip(line, corner, box, at, covered)
    ax = bx
    ay = by
  }
}

/**
 * Adds the part of the segment that ends at `corner` inside a rectangle.
 *
 * @see Y.-D. Liang, B. A. Barsky, "A new concept and method for line clipping", 1984
 */
function clip(
  { xy, offsets }: MeasuredLine,
  corner: number,
  box: Float64Array,
  at: number,
  covered: Covered,
): void {
  const ax = xy[corner * 2 - 2]!
  const ay = xy[corner * 2 - 1]!
  const dx = xy[corner * 2]! - ax
  const dy = xy[corner * 2 + 1]! - ay
  let low = 0
  let high = 1
  if (dx !== 0) {
    low = Math.max(low, (box[dx > 0 ? at : at + 2]! - ax) / dx)
    high = Math.min(high, (box[dx > 0 ? at + 2 : at]! - ax) / dx)
  }
  if (dy !== 0) {
    low = Math.max(low, (box[dy > 0 ? at + 1 : at + 3]! - ay) / dy)
    high = Math.min(high, (box[dy > 0 ? at + 3 : at + 1]! - ay) / dy)
  }
  if (low < high) addShare(covered, offsets, corner, low, high)
}

/**
 * Stretches inside a ring or a shape. Each segment is cut wherever a border meets it; between two cuts
 * nothing changes, so the middle decides for the whole part.
 *
 * @param at index of the west side of the area's box in `box`; south, east and north follow
 */
function coverByArea(
  area: Area,
  box: Float64Array,
  at: number,
  { xy, offsets, corners }: MeasuredLine,
  covered: Covered,
): void {
  const { cuts } = covered
  const isSmall = isRing(area)
  const west = box[at]!
  const south = box[at + 1]!
  const east = box[at + 2]!
  const north = box[at + 3]!
  for (let corner = 1; corner < corners; corner++) {
    const ax = xy[corner * 2 - 2]!
    const ay = xy[corner * 2 - 1]!
    const bx = xy[corner * 2]!
    const by = xy[corner * 2 + 1]!
    const isBeside =
      (ax < west && bx < west) ||
      (ax > east && bx > east) ||
      (ay < south && by < south) ||
      (ay > north && by > north)
    if (isBeside) continue
    if (!isSmall) covered.throwIfEnded()
    cuts.ax = ax
    cuts.ay = ay
    cuts.bx = bx
    cuts.by = by
    cutByBorders(area, cuts)
    if (cuts.count > 1) sortCuts(cuts)
    cuts.at[cuts.count] = 1 // the end of the last part
    let low = 0
    for (let index = 0; index <= cuts.count; index++) {
      const high = cuts.at[index]!
      if (high <= low) continue
      const middle = (low + high) / 2
      if (!isSmall) covered.throwIfEnded()
      if (isInAreaHalfOpen(area, ax + (bx - ax) * middle, ay + (by - ay) * middle))
        addShare(covered, offsets, corner, low, high)
      low = high
    }
  }
}

/** Cuts up to this number are sorted by insertion, which is faster for few. */
const FEW_CUTS = 32

/** Sorts the first `count` cuts, ascending: those of the segment at hand. */
function sortCuts({ at, count }: SegmentCuts): void {
  if (count > FEW_CUTS) {
    const sorted = Float64Array.from(at.slice(0, count)).sort()
    for (let index = 0; index < count; index++) at[index] = sorted[index]!
    return
  }
  for (let next = 1; next < count; next++) {
    const value = at[next]!
    let place = next
    for (; place > 0 && at[place - 1]! > value; place--) at[place] = at[place - 1]!
    at[place] = value
  }
}

/**
 * Adds a part of the segment that ends at `corner`, from share `low` to share `high`. At the ends of the
 * segment the offsets are taken as they are, so that stretches of neighbouring segments meet exactly.
 */
function addShare(covered: Covered, offsets: Float64Array, corner: number, low: number, high: number): void {
  const start = offsets[corner - 1]!
  const length = offsets[corner]! - start
  add(covered, low <= 0 ? start : start + length * low, high >= 1 ? offsets[corner]! : start + length * high)
}

/** Adds a stretch, or makes the last one longer when it ends where this one begins. */
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
