import { boxesTouch } from './bbox.js'
import { locateInAreas, OUTSIDE, touchesPoint, touchesSegment } from './locate.js'
import { KIND, type Shape, shapeOf } from './shape.js'
import type { Bbox, Geometry } from './types.js'

/**
 * Do two geometries share a point? Exact, in the plane of longitude and latitude; borders and ends belong to a
 * geometry, an empty one touches nothing (as ST_Intersects of PostGIS). A self-crossing ring is taken even-odd.
 */
export function intersects(a: Geometry, b: Geometry): boolean {
  return shapesIntersect(shapeOf(a), shapeOf(b))
}

/** The same for shapes that are kept. */
export function shapesIntersect(a: Shape, b: Shape): boolean {
  if (a.bbox === undefined || b.bbox === undefined || !boxesTouch(a.bbox, b.bbox)) return false
  // either some point or vertex lies in the other, or two edges touch: nothing else can be
  if (anyPlaceTouches(a, b) || anyPlaceTouches(b, a)) return true
  return a.edgeCount < b.edgeCount ? anyEdgeTouches(a, b, b.bbox) : anyEdgeTouches(b, a, a.bbox)
}

/** Points of `a`, and one vertex of each of its lines and rings: is any in `b`? */
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

/** @param within box of `b`: runs outside it are left out */
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
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (touchesSegment(b, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!)) return true
    }
    node++
  }
  return false
}
