import { boxesTouch } from './bbox.js'
import { locateInAreas, OUTSIDE, touchesPoint, touchesSegment } from './locate.js'
import { KIND, type Shape, shapeOf } from './shape.js'
import type { Bbox, Geometry } from './types.js'

/**
 * Returns true when two geometries share a point. Exact, in the plane of longitude and latitude. Borders and
 * ends belong to a geometry, and an empty one intersects nothing, as in ST_Intersects of PostGIS. A
 * self-crossing ring counts even-odd.
 */
export function intersects(a: Geometry, b: Geometry): boolean {
  return shapesIntersect(shapeOf(a), shapeOf(b))
}

/**
 * Does the work of `intersects` for shapes. Cost: the edges of one whose box meets the other's, times the
 * logarithm of the other's.
 */
export function shapesIntersect(a: Shape, b: Shape): boolean {
  if (a.bbox === undefined || b.bbox === undefined || !boxesTouch(a.bbox, b.bbox)) return false
  // they intersect when a point or a vertex of one lies in the other, or two edges touch
  if (anyPlaceTouches(a, b) || anyPlaceTouches(b, a)) return true
  // the shape with fewer edges is read edge by edge, the tree of the other one is searched
  return a.edgeCount < b.edgeCount ? anyEdgeTouches(a, b, b.bbox) : anyEdgeTouches(b, a, a.bbox)
}

/** Returns true when a point of `a`, or the first vertex of one of its lines or rings, lies in `b`. */
function anyPlaceTouches(a: Shape, b: Shape): boolean {
  const { xy, starts, kind, first, skip, nodeCount } = a
  if (b.polygonCount > 0) {
    for (let index = 0; index < starts.length; index++) {
      const at = starts[index]! * 2
      if (locateInAreas(b, xy[at]!, xy[at + 1]!) !== OUTSIDE) return true
    }
  }
  if (a.pointCount === 0) return false
  for (let node = 0; node < nodeCount; node = kind[node] === KIND.GROUP ? node + 1 : skip[node]!) {
    if (kind[node] !== KIND.POINT) continue
    const at = first[node]! * 2
    if (touchesPoint(b, xy[at]!, xy[at + 1]!)) return true
  }
  return false
}

/** Returns true when an edge of `a` in the box of `b` touches `b`. */
function anyEdgeTouches(a: Shape, b: Shape, [west, south, east, north]: Bbox): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = a
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(box[at]! <= east && box[at + 2]! >= west && box[at + 1]! <= north && box[at + 3]! >= south)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      // a leaf near `b`: each of its edges is searched in the tree of `b`
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (touchesSegment(b, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
    }
    node++
  }
  return false
}
