import { orient2d } from 'robust-predicates'
import { isOnSegment, segmentsTouch } from './segments.js'
import { KIND, type Shape } from './shape.js'

/** Where a point stands to the areas of a shape. */
export const OUTSIDE = -1
export const ON_BORDER = 0
export const INSIDE = 1

/**
 * Place of a point among the polygons of a shape, exactly; rings are taken even-odd. Lines and points are no area.
 *
 * @returns INSIDE when inside any polygon, ON_BORDER when only on the border of some
 */
export function locateInAreas(shape: Shape, x: number, y: number): number {
  const { box, skip, kind, nodeCount } = shape
  let best = OUTSIDE
  let node = 0
  while (node < nodeCount) {
    const what = kind[node]!
    const at = node * 4
    const isNear = x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!
    if (isNear && what === KIND.POLYGON) {
      const place = locateInPolygon(shape, node, x, y)
      if (place === INSIDE) return INSIDE
      if (place > best) best = place
    }
    node = isNear && what === KIND.GROUP ? node + 1 : skip[node]!
  }
  return best
}

/**
 * Is a point in the areas of a shape by the half-open rule: as if it were moved by nothing to the east and then by
 * less to the north? A point on the common border of two areas then belongs to exactly one of them.
 */
export function isInAreasHalfOpen(shape: Shape, x: number, y: number): boolean {
  const { box, skip, kind, nodeCount } = shape
  let node = 0
  while (node < nodeCount) {
    const what = kind[node]!
    const at = node * 4
    const isNear = x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!
    if (isNear && what === KIND.POLYGON && (crossingsEast(shape, node, x, y) & 1) === 1) return true
    node = isNear && what === KIND.GROUP ? node + 1 : skip[node]!
  }
  return false
}

/** Does the shape have the point: on a point or line of it, or in or on an area? Exact. */
export function touchesPoint(shape: Shape, x: number, y: number): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!)) {
      node = skip[node]!
      continue
    }
    const what = kind[node]!
    if (what === KIND.POINT) return true // its box is the point
    if (what === KIND.POLYGON) {
      if (locateInPolygon(shape, node, x, y) !== OUTSIDE) return true
      node = skip[node]!
      continue
    }
    if (what === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (isOnSegment(x, y, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
    }
    node++
  }
  return false
}

/** Does a closed segment touch a point, a line or a border of the shape? What lies wholly inside an area does not. */
export function touchesSegment(shape: Shape, ax: number, ay: number, bx: number, by: number): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  const west = Math.min(ax, bx)
  const east = Math.max(ax, bx)
  const south = Math.min(ay, by)
  const north = Math.max(ay, by)
  let node = 0
  while (node < nodeCount) {
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
  return false
}

/** @param polygon node of kind POLYGON */
function locateInPolygon(shape: Shape, polygon: number, x: number, y: number): number {
  const crossings = crossingsEast(shape, polygon, x, y)
  if (crossings >= BORDER) return ON_BORDER
  return (crossings & 1) === 1 ? INSIDE : OUTSIDE
}

/** Set in the result of `crossingsEast` when the point is on the border. */
const BORDER = 0x40000000

/**
 * How often the rings of a polygon cross the ray from a point to the east, in its lowest bit, and BORDER.
 *
 * A run whose box lies wholly east of the point crosses the ray an odd number of times just when its two ends lie on
 * different sides of it, so only the runs around the point are looked at: logarithmic time on ordinary shapes.
 */
function crossingsEast(shape: Shape, polygon: number, x: number, y: number): number {
  const { box, skip, kind, first, last, xy } = shape
  const end = skip[polygon]!
  let crossings = 0
  let border = 0
  let node = polygon + 1
  while (node < end) {
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
  return crossings | border
}

function crossingsOfRun(xy: Float64Array, first: number, last: number, x: number, y: number): number {
  let crossings = 0
  let border = 0
  let ax = xy[first * 2]!
  let ay = xy[first * 2 + 1]!
  for (let at = first + 1; at <= last; at++) {
    const bx = xy[at * 2]!
    const by = xy[at * 2 + 1]!
    if (ay > y !== by > y) {
      // robust-predicates: positive = the point is to the right of a → b
      const side = orient2d(ax, ay, bx, by, x, y)
      if (side === 0) border = BORDER
      else if (side < 0 === by > ay) crossings ^= 1
    } else if (ay === y && by === y) {
      if ((ax <= x && x <= bx) || (bx <= x && x <= ax)) border = BORDER
    } else if ((ay === y && ax === x) || (by === y && bx === x)) {
      border = BORDER
    }
    ax = bx
    ay = by
  }
  return crossings | border
}
