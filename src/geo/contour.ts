import Delaunator from 'delaunator'

/** Triangulation of points and of a frame of four more around them. Triangles run counterclockwise. */
interface Triangulation {
  /** x, y of each point, integers; the frame comes last */
  readonly xy: Float64Array
  /** points without the frame */
  readonly count: number
  /** half-edge → point where it begins; three half-edges make a triangle */
  readonly triangles: Uint32Array
  /** half-edge → the half-edge of the neighbouring triangle along the same edge, -1 at the frame */
  readonly halfedges: Int32Array
}

/** Outer ring, counterclockwise, then its holes, clockwise; each is closed. */
export type ContourPolygon = [x: number, y: number][][]

/**
 * Builds the Delaunay triangulation of points and of a frame around them. Cost: O(n log n).
 *
 * @param xy x, y of each point, integers within ±2^32; no two points in one place
 * @param margin distance of the frame from the points, integer, 1 or more
 */
export function triangulate(xy: readonly number[], margin: number): Triangulation {
  const all = [...xy, ...frameOf(xy, margin)]
  // delaunator's y axis points down: with y up its triangles would run clockwise
  const { triangles, halfedges } = new Delaunator(all.map((value, i) => (i % 2 === 0 ? value : -value)))
  return { xy: Float64Array.from(all), count: xy.length / 2, triangles, halfedges }
}

/**
 * Draws the area that holds the inner points and no other. Every triangle edge from an inner to another point
 * is cut, at 1/2, 1/4 … 1/32 of the way from the inner point, and the cuts are joined triangle by triangle.
 * Corners are integers, so cuts are exact in doubles and in twelve decimals: no rounding puts a point on the
 * wrong side, or makes rings touch.
 *
 * @param isInner point → 1 = in the area
 * @param maxOut cuts lie no farther than this from the inner point, unless 1/32 of the way is longer
 * @param lengthOf length of an edge in the unit of `maxOut`, from its extent in x and y
 */
export function contourOf(
  net: Triangulation,
  isInner: Uint8Array,
  maxOut: number,
  lengthOf: (dx: number, dy: number) => number,
): ContourPolygon[] {
  const { triangles, halfedges } = net
  const inner = (halfedge: number) => isInner[triangles[halfedge] ?? net.count] === 1
  const leavesArea = (halfedge: number) => inner(halfedge) && !inner(nextOf(halfedge))
  const groups = groupsOf(net, inner)
  const polygons = new Map<number, ContourPolygon>()
  const isDone = new Uint8Array(triangles.length)
  for (let first = 0; first < triangles.length; first++) {
    if (isDone[first] === 1 || !leavesArea(first)) continue
    const ring: [number, number][] = []
    let at = first
    do {
      isDone[at] = 1
      ring.push(cutOf(net, at, maxOut, lengthOf))
      let back = nextOf(at) // the half-edge of this triangle that comes back into the area
      while (inner(back) || !inner(nextOf(back))) back = nextOf(back)
      at = halfedges[back] ?? first
    } while (at !== first)
    ring.push(ring[0] ?? [0, 0])
    const group = rootOf(groups, triangles[first] ?? 0)
    const rings = polygons.get(group)
    if (rings === undefined) polygons.set(group, [ring])
    else rings.push(ring)
  }
  return [...polygons.values()].map(outerFirst)
}

/** Corners of the box around points, widened by a margin. */
function frameOf(xy: readonly number[], margin: number): number[] {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let i = 0; i < xy.length; i += 2) {
    west = Math.min(west, xy[i] ?? west)
    east = Math.max(east, xy[i] ?? east)
    south = Math.min(south, xy[i + 1] ?? south)
    north = Math.max(north, xy[i + 1] ?? north)
  }
  if (west > east) [west, south, east, north] = [0, 0, 0, 0]
  west -= margin
  south -= margin
  east += margin
  north += margin
  return [west, south, east, south, east, north, west, north]
}

/** Next half-edge of the same triangle. */
function nextOf(halfedge: number): number {
  return halfedge % 3 === 2 ? halfedge - 2 : halfedge + 1
}

/**
 * Groups inner points that edges between inner points connect: each is one polygon.
 *
 * @returns forest: point → parent
 */
function groupsOf({ triangles }: Triangulation, inner: (halfedge: number) => boolean): Uint32Array {
  const parent = Uint32Array.from(
    { length: triangles.reduce((max, p) => Math.max(max, p), 0) + 1 },
    (_, p) => p,
  )
  for (let halfedge = 0; halfedge < triangles.length; halfedge++) {
    const next = nextOf(halfedge)
    if (!inner(halfedge) || !inner(next)) continue
    const a = rootOf(parent, triangles[halfedge] ?? 0)
    const b = rootOf(parent, triangles[next] ?? 0)
    if (a !== b) parent[Math.max(a, b)] = Math.min(a, b)
  }
  return parent
}

function rootOf(parent: Uint32Array, point: number): number {
  let root = point
  for (let up = parent[root] ?? root; up !== root; up = parent[root] ?? root) {
    parent[root] = parent[up] ?? up // path halving
    root = up
  }
  return root
}

/** Point where the edge of a half-edge, which leaves the area, is cut. */
function cutOf(
  { xy, triangles }: Triangulation,
  halfedge: number,
  maxOut: number,
  lengthOf: (dx: number, dy: number) => number,
): [number, number] {
  const from = (triangles[halfedge] ?? 0) * 2
  const to = (triangles[nextOf(halfedge)] ?? 0) * 2
  const [x, y] = [xy[from] ?? 0, xy[from + 1] ?? 0]
  const [dx, dy] = [(xy[to] ?? 0) - x, (xy[to + 1] ?? 0) - y]
  let share = 1 / 2
  while (share > 1 / 32 && lengthOf(dx, dy) * share > maxOut) share /= 2
  return [x + dx * share, y + dy * share]
}

/** Puts the outer ring of a polygon first: the one that reaches farthest west. */
function outerFirst(rings: ContourPolygon): ContourPolygon {
  const west = rings.map((ring) => ring.reduce((least, [x]) => Math.min(least, x), Infinity))
  const outer = west.indexOf(west.reduce((least, x) => Math.min(least, x), Infinity))
  return [...rings.slice(outer, outer + 1), ...rings.filter((_, i) => i !== outer)]
}
