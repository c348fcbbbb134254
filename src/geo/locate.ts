import { orient2d } from 'robust-predicates'
import { type Area, isRing, type Ring } from './ring.js'
import { isOnSegment, segmentsTouch } from './segments.js'
import { KIND, type Shape } from './shape.js'

/** Work of searches in trees of boxes, which ends when it is used up. */
export interface Effort {
  /** nodes that may still be visited; below 0 when more were */
  left: number
}

/** Results of `locateInAreas`. */
export const OUTSIDE = -1
const ON_BORDER = 0
export const INSIDE = 1

/**
 * Locates a point relative to the polygons of a shape. Exact; rings count even-odd; lines and points have no
 * area.
 *
 * Cost: logarithmic in the edges of ordinary shapes, see `crossingsEast`.
 *
 * @returns INSIDE when inside any polygon, 0 when only on the border of some, else OUTSIDE
 */
export function locateInAreas(shape: Shape, x: number, y: number, effort?: Effort): number {
  const { box, skip, kind, nodeCount } = shape
  let best = OUTSIDE
  let visited = 0
  let node = 0
  while (node < nodeCount) {
    visited++
    const what = kind[node]!
    const at = node * 4
    const isNear = x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!
    if (isNear && what === KIND.POLYGON) {
      const place = locateInPolygon(shape, node, x, y, effort)
      if (place === INSIDE) return INSIDE
      if (place > best) best = place
    }
    // into groups near the point; polygons are located as a whole, so their runs are skipped
    node = isNear && what === KIND.GROUP ? node + 1 : skip[node]!
  }
  if (effort !== undefined) effort.left -= visited
  return best
}

/**
 * Returns true when a point is in an area by the half-open rule: a point on a border belongs to the area east
 * of it, or north where the border runs east. A point on the common border of two areas then belongs to
 * exactly one. Exact.
 */
export function isInAreaHalfOpen(area: Area, x: number, y: number): boolean {
  if (isRing(area)) return isInRing(area, x, y)
  const { box, skip, kind, nodeCount } = area
  let node = 0
  while (node < nodeCount) {
    const what = kind[node]!
    const at = node * 4
    const isNear = x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!
    if (isNear && what === KIND.POLYGON && (crossingsEast(area, node, x, y) & 1) === 1) return true
    node = isNear && what === KIND.GROUP ? node + 1 : skip[node]!
  }
  return false
}

/**
 * Returns true when a point is on a point or line of a shape, or inside or on the border of an area. Exact.
 */
export function touchesPoint(shape: Shape, x: number, y: number, effort?: Effort): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  let visited = 0
  let node = 0
  while (node < nodeCount) {
    visited++
    const at = node * 4
    if (!(x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!)) {
      node = skip[node]!
      continue
    }
    const what = kind[node]!
    if (what === KIND.POINT) return true // its box is the point
    if (what === KIND.POLYGON) {
      if (locateInPolygon(shape, node, x, y, effort) !== OUTSIDE) return true
      node = skip[node]!
      continue
    }
    if (what === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (isOnSegment(x, y, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
    }
    node++
  }
  if (effort !== undefined) effort.left -= visited
  return false
}

/**
 * Returns false only when a shape and a closed box share no point; true may be wrong for a box within 1e-9 degrees
 * of an edge. Cost: as `touchesPoint`, and the edges around the box.
 */
export function mayTouchBox(shape: Shape, west: number, south: number, east: number, north: number): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(west <= box[at + 2]! && east >= box[at]! && south <= box[at + 3]! && north >= box[at + 1]!)) {
      node = skip[node]!
      continue
    }
    const what = kind[node]!
    if (what === KIND.POINT) return true // its box is the point
    // a box that no edge meets lies wholly inside or wholly outside, as its corner does
    if (what === KIND.POLYGON && locateInPolygon(shape, node, west, south) !== OUTSIDE) return true
    if (what === KIND.LEAF && mayMeetRun(xy, first[node]!, last[node]!, west, south, east, north)) return true
    node++
  }
  return false
}

/** Returns false only when no edge between two positions of a shape, both included, meets a closed box. */
function mayMeetRun(
  xy: Float64Array,
  first: number,
  last: number,
  west: number,
  south: number,
  east: number,
  north: number,
): boolean {
  const halfX = (east - west) / 2
  const halfY = (north - south) / 2
  let ax = xy[first * 2]!
  let ay = xy[first * 2 + 1]!
  for (let at = first + 1; at <= last; at++) {
    const bx = xy[at * 2]!
    const by = xy[at * 2 + 1]!
    const dx = bx - ax
    const dy = by - ay
    const fromX = west + halfX - ax
    const fromY = south + halfY - ay
    ax = bx
    ay = by
    // apart along an axis: the ends of the edge lie at 0 and at `dx`, seen from its beginning
    if (Math.min(0, dx) > fromX + halfX + SLACK || Math.max(0, dx) < fromX - halfX - SLACK) continue
    if (Math.min(0, dy) > fromY + halfY + SLACK || Math.max(0, dy) < fromY - halfY - SLACK) continue
    // apart across the edge: the corners lie on one side of its line
    const reach = Math.abs(dx) * (halfY + SLACK) + Math.abs(dy) * (halfX + SLACK)
    if (Math.abs(dx * fromY - dy * fromX) <= reach) return true
  }
  return false
}

/** More than the rounding errors of coordinates in degrees, less than a millimetre. */
const SLACK = 1e-9

/**
 * Returns true when a closed segment touches a point, a line or a border of a shape; false when it lies
 * wholly inside an area. Exact.
 */
export function touchesSegment(
  shape: Shape,
  ax: number,
  ay: number,
  bx: number,
  by: number,
  effort?: Effort,
): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  const west = Math.min(ax, bx)
  const east = Math.max(ax, bx)
  const south = Math.min(ay, by)
  const north = Math.max(ay, by)
  let visited = 0
  let node = 0
  while (node < nodeCount) {
    visited++
    const at = node * 4
    if (!(west <= box[at + 2]! && east >= box[at]! && south <= box[at + 3]! && north >= box[at + 1]!)) {
      node = skip[node]!
      continue
    }
    const what = kind[node]!
    if (what === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (segmentsTouch(ax, ay, bx, by, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
    } else if (what === KIND.POINT) {
      if (isOnSegment(box[at]!, box[at + 1]!, ax, ay, bx, by)) return true
    }
    node++
  }
  if (effort !== undefined) effort.left -= visited
  return false
}

/** Locates a point relative to one polygon. @param polygon node of kind POLYGON */
function locateInPolygon(shape: Shape, polygon: number, x: number, y: number, effort?: Effort): number {
  const crossings = crossingsEast(shape, polygon, x, y, effort)
  if (crossings >= BORDER) return ON_BORDER
  return (crossings & 1) === 1 ? INSIDE : OUTSIDE
}

/** Set in the result of `crossingsEast` when the point is on the border. */
const BORDER = 0x40000000

/**
 * Counts how often the rings of a polygon cross the ray from a point to the east.
 *
 * A run whose box lies wholly east of the point crosses the ray an odd number of times exactly when its two
 * ends lie on different sides of it, so only the runs around the point are read edge by edge: logarithmic
 * time on ordinary shapes.
 *
 * @param polygon node of kind POLYGON
 * @returns parity of the count in the lowest bit; BORDER is set when the point is on a ring
 */
function crossingsEast(shape: Shape, polygon: number, x: number, y: number, effort?: Effort): number {
  const { box, skip, kind, first, last, xy } = shape
  const end = skip[polygon]!
  let crossings = 0
  let border = 0
  let visited = 0
  let node = polygon + 1
  while (node < end) {
    visited++
    const at = node * 4
    if (y < box[at + 1]! || y > box[at + 3]! || x > box[at + 2]!) {
      node = skip[node]!
    } else if (x < box[at]!) {
      if (xy[first[node]! * 2 + 1]! > y !== xy[last[node]! * 2 + 1]! > y) crossings ^= 1
      node = skip[node]!
    } else {
      if (kind[node] === KIND.LEAF) {
        const found = crossingsOfRun(xy, first[node]!, last[node]!, x, y)
        crossings ^= found & 1
        border |= found & BORDER
      }
      node++
    }
  }
  if (effort !== undefined) effort.left -= visited
  return crossings | border
}

/** Parity of the crossings by the edges between two positions of a shape, both included, and BORDER. */
function crossingsOfRun(xy: Float64Array, first: number, last: number, x: number, y: number): number {
  let crossings = 0
  let border = 0
  let ax = xy[first * 2]!
  let ay = xy[first * 2 + 1]!
  for (let at = first + 1; at <= last; at++) {
    const bx = xy[at * 2]!
    const by = xy[at * 2 + 1]!
    // half-open in latitude: a vertex at the point's latitude counts for one of its two edges
    if (ay > y !== by > y) {
      // robust-predicates: positive = the point is to the right of a → b
      const side = orient2d(ax, ay, bx, by, x, y)
      if (side === 0) border = BORDER
      else if (side < 0 === by > ay) crossings ^= 1
    } else if (ay === y && by === y) {
      // a horizontal edge crosses nothing, but the point may lie on it
      if ((ax <= x && x <= bx) || (bx <= x && x <= ax)) border = BORDER
    } else if ((ay === y && ax === x) || (by === y && bx === x)) {
      border = BORDER
    }
    ax = bx
    ay = by
  }
  return crossings | border
}

/**
 * Half-open rule for a ring. It needs neither the border nor a tree: sharing `crossingsOfRun` made an overlay
 * of small polygons a tenth slower.
 */
function isInRing({ xy, first, last }: Ring, x: number, y: number): boolean {
  let isIn = false
  for (let i = first * 2, end = last * 2; i < end; i += 2) {
    const ay = xy[i + 1]!
    const by = xy[i + 3]!
    if (ay > y === by > y) continue
    const ax = xy[i]!
    const bx = xy[i + 2]!
    // wholly to the west: the ray to the east does not meet it
    if (ax < x && bx < x) continue
    // wholly to the east the crossing is certain; the exact predicate is needed only around the point
    const side = ax > x && bx > x ? (by > ay ? -1 : 1) : orient2d(ax, ay, bx, by, x, y)
    if (side !== 0 && side < 0 === by > ay) isIn = !isIn
  }
  return isIn
}
