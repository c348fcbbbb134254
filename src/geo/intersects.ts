import { boxesTouch } from './bbox.js'
import { type Effort, locateInAreas, OUTSIDE, touchesPoint, touchesSegment } from './locate.js'
import { KIND, type Shape, shapeOf } from './shape.js'
import { sweepIntersects } from './sweep.js'
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
 * logarithm of the other's. Where boxes of edges overlap so much that a tree of them does not help, n log n in
 * the positions of both, see `sweepIntersects`; if a ring crosses itself besides, their product.
 *
 * @param throwIfEnded called now and then; what it throws ends the work
 */
export function shapesIntersect(a: Shape, b: Shape, throwIfEnded: () => void = noCheck): boolean {
  if (a.bbox === undefined || b.bbox === undefined || !boxesTouch(a.bbox, b.bbox)) return false
  const effort = { left: MIN_EFFORT + EFFORT_PER_PLACE * ((a.xy.length + b.xy.length) / 2) }
  const search = { effort, throwIfEnded }
  const found = searchTrees(a, b, search) ?? sweepIntersects(a, b, throwIfEnded)
  if (found !== undefined) return found
  effort.left = Infinity
  return searchTrees(a, b, search) === true
}

/** Nodes that a search in trees visits before a sweep is tried: what a sweep would take, about. */
const [MIN_EFFORT, EFFORT_PER_PLACE] = [100_000, 64]

function noCheck(): void {
  // nobody ends this work
}

interface Search {
  readonly effort: Effort
  readonly throwIfEnded: () => void
}

/** Returns undefined when the effort was used up before the answer was known. */
function searchTrees(a: Shape, b: Shape, search: Search): boolean | undefined {
  // they intersect when a point or a vertex of one lies in the other, or two edges touch
  const isFound =
    anyPlaceTouches(a, b, search) ||
    anyPlaceTouches(b, a, search) ||
    // the shape with fewer edges is read edge by edge, the tree of the other one is searched
    (a.edgeCount < b.edgeCount ? anyEdgeTouches(a, b, search) : anyEdgeTouches(b, a, search))
  return isFound || search.effort.left >= 0 ? isFound : undefined
}

/** True when the effort is used up. @throws what `throwIfEnded` throws */
function isOver({ effort, throwIfEnded }: Search): boolean {
  throwIfEnded()
  return effort.left < 0
}

/** Returns true when a point of `a`, or the first vertex of one of its lines or rings, lies in `b`. */
function anyPlaceTouches(a: Shape, b: Shape, search: Search): boolean {
  const { xy, starts, kind, first, skip, nodeCount } = a
  const { effort } = search
  if (b.polygonCount > 0) {
    for (let index = 0; index < starts.length && !isOver(search); index++) {
      const at = starts[index]! * 2
      if (locateInAreas(b, xy[at]!, xy[at + 1]!, effort) !== OUTSIDE) return true
    }
  }
  if (a.pointCount === 0) return false
  for (let node = 0; node < nodeCount; node = kind[node] === KIND.GROUP ? node + 1 : skip[node]!) {
    if (kind[node] !== KIND.POINT) continue
    const at = first[node]! * 2
    if (touchesPoint(b, xy[at]!, xy[at + 1]!, effort)) return true
    if (isOver(search)) return false
  }
  return false
}

/** Returns true when an edge of `a` in the box of `b` touches `b`. */
function anyEdgeTouches(a: Shape, b: Shape, search: Search): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = a
  const { effort } = search
  const [west, south, east, north] = b.bbox as Bbox // the caller has compared the boxes
  let node = 0
  while (node < nodeCount && !isOver(search)) {
    const at = node * 4
    if (!(box[at]! <= east && box[at + 2]! >= west && box[at + 1]! <= north && box[at + 3]! >= south)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      // a leaf near `b`: each of its edges is searched in the tree of `b`
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (touchesSegment(b, xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!, effort)) return true
    }
    node++
  }
  return false
}
