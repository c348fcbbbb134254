import { coversEdges } from './exact-cover.js'
import { INSIDE, locateInAreas, touchesPoint, touchesSegment } from './locate.js'
import { isOnSegment } from './segments.js'
import { KIND, type Shape, shapeOf } from './shape.js'
import type { Geometry } from './types.js'

/**
 * Returns true when no point of `a` is outside `b`, and some point is inside both. Exact, as ST_Within of
 * PostGIS: a geometry that lies wholly on the border of an area is not within it. An empty geometry is within
 * nothing. A collection is the union of its members, and its interior the union of their interiors.
 */
export function within(a: Geometry, b: Geometry): boolean {
  return isWithinShape(shapeOf(a), shapeOf(b))
}

/**
 * Does the work of `within` for shapes. Cheap when no borders touch; else see `coversEdges`.
 *
 * @param throwIfEnded called now and then; what it throws ends the work
 */
export function isWithinShape(a: Shape, b: Shape, throwIfEnded: () => void = () => undefined): boolean {
  if (a.bbox === undefined || b.bbox === undefined) return false
  const [west, south, east, north] = a.bbox
  if (west < b.bbox[0] || south < b.bbox[1] || east > b.bbox[2] || north > b.bbox[3]) return false
  if (!allPlacesCovered(a, b, throwIfEnded)) return false
  const isInside = anyPointInside(a, b, throwIfEnded)
  if (a.edgeCount === 0) return isInside
  // vertices are covered and no edge is met: each line or ring lies wholly inside one area
  if (!anyContact(a, b, throwIfEnded)) return true
  const cover = coversEdges(b, a, throwIfEnded)
  if (cover === 'no') return false
  // along a border only a point of `b` itself can be inside both
  return isInside || cover === 'inside' || anyPointInside(b, a, throwIfEnded)
}

/**
 * Returns true when `b` covers all points and vertices of `a`: cheap, and false for most geometries not
 * within.
 */
function allPlacesCovered(a: Shape, b: Shape, throwIfEnded: () => void): boolean {
  const { xy } = a
  for (let at = 0; at < xy.length; at += 2) {
    throwIfEnded()
    if (!touchesPoint(b, xy[at]!, xy[at + 1]!)) return false
  }
  return true
}

/** Returns true when a point of `a`, not a vertex of a line or ring, lies inside `b`. */
function anyPointInside(a: Shape, b: Shape, throwIfEnded: () => void): boolean {
  const { kind, skip, first, xy, nodeCount } = a
  for (let node = 0; node < nodeCount; node = kind[node] === KIND.GROUP ? node + 1 : skip[node]!) {
    if (kind[node] !== KIND.POINT) continue
    throwIfEnded()
    const at = first[node]! * 2
    if (isPointInside(b, xy[at]!, xy[at + 1]!)) return true
  }
  return false
}

/**
 * Returns true inside an area, on a point, and on a line but not at an end; two ends that meet are no end.
 * Cost: the parts whose boxes hold the point.
 */
function isPointInside(shape: Shape, x: number, y: number): boolean {
  if (locateInAreas(shape, x, y) === INSIDE) return true
  const { box, kind, skip, first, last, xy, nodeCount } = shape
  let isOnLine = false
  let ends = 0
  let node = 0
  while (node < nodeCount) {
    const what = kind[node]!
    const side = node * 4
    if (!(x >= box[side]! && x <= box[side + 2]! && y >= box[side + 1]! && y <= box[side + 3]!)) {
      node = skip[node]!
      continue
    }
    if (what === KIND.POINT && xy[first[node]! * 2] === x && xy[first[node]! * 2 + 1] === y) return true
    if (what === KIND.LINE) {
      const run = node + 1 // a line has one run, which holds all of it
      // mod-2 rule of OGC 06-103r4: a point is on the boundary of lines when an odd number of them end there
      ends += Number(isAt(xy, first[run]!, x, y)) + Number(isAt(xy, last[run]!, x, y))
      isOnLine ||= isOnRun(shape, run, x, y)
    }
    node = what === KIND.GROUP ? node + 1 : skip[node]!
  }
  return isOnLine && ends % 2 === 0
}

function isAt(xy: Float64Array, position: number, x: number, y: number): boolean {
  return xy[position * 2] === x && xy[position * 2 + 1] === y
}

/** Returns true when a point lies on an edge of a run. Cost: the leaves whose boxes hold the point. */
function isOnRun({ box, kind, skip, first, last, xy }: Shape, run: number, x: number, y: number): boolean {
  for (let node = run, end = skip[run]!; node < end; ) {
    const at = node * 4
    const isNear = x >= box[at]! && x <= box[at + 2]! && y >= box[at + 1]! && y <= box[at + 3]!
    if (isNear && kind[node] === KIND.LEAF) {
      for (let i = first[node]! * 2; i < last[node]! * 2; i += 2)
        if (isOnSegment(x, y, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
    }
    node = isNear ? node + 1 : skip[node]!
  }
  return false
}

/** Returns true when an edge of `a` touches one of `b`, or a ring or line of `b` begins in an area of `a`. */
function anyContact(a: Shape, b: Shape, throwIfEnded: () => void): boolean {
  const { kind, first, last, xy, nodeCount } = a
  for (let node = 0; node < nodeCount; node++) {
    if (kind[node] !== KIND.LEAF) continue
    throwIfEnded()
    for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
      if (touchesSegment(b, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
  }
  if (a.polygonCount === 0) return false
  // parts of `b` that no edge of `a` touches are wholly inside or outside `a`, so one place of each decides
  return b.starts.some((start) => touchesPoint(a, b.xy[start * 2]!, b.xy[start * 2 + 1]!))
}
