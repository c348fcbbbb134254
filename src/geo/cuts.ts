import { type Area, isRing } from './ring.js'
import { KIND } from './shape.js'
import type { Extent } from './types.js'

/**
 * Cuts this close beyond an end of an edge, as a share of its length, still count: rounding must not lose a
 * cut, and a superfluous one does no harm.
 */
const SLACK = 1e-9
/** Square of the sine of the angle below which a segment and an edge count as parallel. */
const PARALLEL = 1e-24

/**
 * A segment, and the places where borders cut it. Created once and reused, so that cutting allocates nothing.
 */
export interface SegmentCuts {
  ax: number
  ay: number
  bx: number
  by: number
  /** cuts in use: `at[0 … count)` */
  count: number
  /** cut → share of the segment, strictly within 0 … 1, unsorted; never shortened */
  readonly at: number[]
}

/** Returns an empty `SegmentCuts` for `cutByBorders`. */
export function createSegmentCuts(): SegmentCuts {
  return { ax: 0, ay: 0, bx: 0, by: 0, count: 0, at: [] }
}

/**
 * Finds the places where borders of an area may cut a segment. Every place where the segment changes sides is
 * among them to within rounding; there may be more. A segment without extent has none.
 *
 * Cost: the edges of a ring; of a shape those in the leaves whose box meets the segment's.
 *
 * @param cuts its segment is read, `count` and `at` are replaced
 */
export function cutByBorders(area: Area, cuts: SegmentCuts): void {
  cuts.count = 0
  if (isRing(area)) {
    cutByRun(area.xy, area.first, area.last, cuts)
    return
  }
  const { box, skip, kind, first, last, xy, nodeCount } = area
  const west = Math.min(cuts.ax, cuts.bx)
  const east = Math.max(cuts.ax, cuts.bx)
  const south = Math.min(cuts.ay, cuts.by)
  const north = Math.max(cuts.ay, cuts.by)
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(west <= box[at + 2]! && east >= box[at]! && south <= box[at + 3]! && north >= box[at + 1]!)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) cutByRun(xy, first[node]!, last[node]!, cuts)
    node++
  }
}

/** Adds the cuts by the edges between the positions `first` and `last`, both included. */
function cutByRun(xy: Float64Array, first: number, last: number, cuts: SegmentCuts): void {
  const { ax, ay, at } = cuts
  const dx = cuts.bx - ax
  const dy = cuts.by - ay
  const lengthSquared = dx * dx + dy * dy
  let count = cuts.count
  for (let i = first * 2, end = last * 2; i < end; i += 2) {
    // relative to the segment's beginning, so that little is lost to rounding
    const qx = xy[i]! - ax
    const qy = xy[i + 1]! - ay
    const ex = xy[i + 2]! - xy[i]!
    const ey = xy[i + 3]! - xy[i + 1]!
    const cross = dx * ey - dy * ex
    if (cross * cross > lengthSquared * (ex * ex + ey * ey) * PARALLEL) {
      const t = (qx * ey - qy * ex) / cross // share of the segment
      const u = (qx * dy - qy * dx) / cross // share of the edge
      if (t > 0 && t < 1 && u >= -SLACK && u <= 1 + SLACK) at[count++] = t
    } else if (lengthSquared > 0) {
      // parallel: if the edge runs along the segment, the stretch that they share begins and stops at its
      // ends
      const t = (qx * dx + qy * dy) / lengthSquared
      const t2 = ((qx + ex) * dx + (qy + ey) * dy) / lengthSquared
      if (t > 0 && t < 1) at[count++] = t
      if (t2 > 0 && t2 < 1) at[count++] = t2
    }
  }
  cuts.count = count
}

/**
 * Returns true when the box of any edge of an area meets an extent, touching included. When it is false, the
 * extent lies wholly inside or wholly outside the area.
 */
export function hasEdgeNear(area: Area, extent: Extent): boolean {
  if (isRing(area)) return hasRunNear(area.xy, area.first, area.last, extent)
  const { box, skip, kind, first, last, xy, nodeCount } = area
  const { west, south, east, north } = extent
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(west <= box[at + 2]! && east >= box[at]! && south <= box[at + 3]! && north >= box[at + 1]!)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF && hasRunNear(xy, first[node]!, last[node]!, extent)) return true
    node++
  }
  return false
}

function hasRunNear(xy: Float64Array, first: number, last: number, extent: Extent): boolean {
  const { west, south, east, north } = extent
  for (let i = first * 2, end = last * 2; i < end; i += 2) {
    const isApart =
      (xy[i]! < west && xy[i + 2]! < west) ||
      (xy[i]! > east && xy[i + 2]! > east) ||
      (xy[i + 1]! < south && xy[i + 3]! < south) ||
      (xy[i + 1]! > north && xy[i + 3]! > north)
    if (!isApart) return true
  }
  return false
}
