import Delaunator from 'delaunator'

/**
 * Points joined to triangles. The first `count` are those that were given; four more stand round them in a frame.
 * Triangles run counterclockwise.
 */
export interface Mesh {
  /** x, y of each point; integers */
  readonly xy: Float64Array
  readonly count: number
  /** half-edge → point that it begins at; three half-edges a triangle */
  readonly triangles: Uint32Array
  /** half-edge → the same edge as the triangle beside it has it, -1 at the frame */
  readonly halfedges: Int32Array
}

/** Outer ring, counterclockwise, then its holes, clockwise; each closed. */
export type ContourPolygon = [x: number, y: number][][]

/**
 * Delaunay triangulation of points and of a frame a margin away from them.
 *
 * @param xy x, y of each point, integers within ±2^32; no two points in one place
 * @param margin integer, 1 or more
 */
export function meshOf(xy: readonly number[], margin: number): Mesh {
  const all = [...xy, ...frameOf(xy, margin)]
  // delaunator counts with y downwards: its triangles would run clockwise
  const { triangles, halfedges } = new Delaunator(all.map((value, i) => (i % 2 === 0 ? value : -value)))
  return { xy: Float64Array.from(all), count: xy.length / 2, triangles, halfedges }
}

/**
 * Area that holds the inner points and none of the others: every triangle edge between an inner point and another one
 * is cut, at 1/2, 1/4 … 1/32 of the way from the inner point, and the cuts are joined triangle by triangle. Corners of
 * triangles being integers, cuts are exact in double and in twelve decimals, so no rounding can put a point on the wrong
 * side, or make rings touch or cross.
 *
 * @param isInner point → 1 = in the area
 * @param maxOut cuts lie no farther than this from the inner point, unless 1/32 of the way is longer
 * @param lengthOf length of an edge in the unit of `maxOut`, from its extent in x and y
 */
export function contourOf(
  mesh: Mesh,
  isInner: Uint8Array,
  maxOut: number,
  lengthOf: (dx: number, dy: number) => number,
): ContourPolygon[] {
  const { triangles, halfedges } = mesh
  const inner = (halfedge: number) => isInner[triangles[halfedge] ?? mesh.count] === 1
  const leavesArea = (halfedge: number) => inner(halfedge) && !inner(nextOf(halfedge))
  const groups = groupsOf(mesh, inner)
  const polygons = new Map<number, ContourPolygon>()
  const isDone = new Uint8Array(triangles.length)
  for (let first = 0; first < triangles.length; first++) {
    if (isDone[first] === 1 || !leavesArea(first)) continue
    const ring: [number, number][] = []
    let at = first
    do {
      isDone[at] = 1
      ring.push(cutOf(mesh, at, maxOut, lengthOf))
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

/** Corners of the box around points, a margin away. */
function frameOf(xy: readonly number[], margin: number): number[] {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let i = 0; i < xy.length; i += 2) {
    west = Math.min(west, xy[i] ?? west)
    east = Math.max(east, xy[i] ?? east)
    south = Math.min(south, xy[i + 1] ?? south)
    north = Math.max(north, xy[i + 1] ?? north)
  }
  if (west > east) [west, south, east, north] = [0, 0, 0, 0]
  return [
    ...[west - margin, south - margin, east + margin, south - margin],
    ...[east + margin, north + margin, west - margin, north + margin],
  ]
}

function nextOf(halfedge: number): number {
  return halfedge % 3 === 2 ? halfedge - 2 : halfedge + 1
}

/** Inner points that edges between inner points join are one piece of the area. @returns a forest: point → parent */
function groupsOf({ triangles }: Mesh, inner: (halfedge: number) => boolean): Uint32Array {
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
    parent[root] = parent[up] ?? up // halves the way for the next one
    root = up
  }
  return root
}

function cutOf(
  { xy, triangles }: Mesh,
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

/** A piece has one outer ring: the one that reaches farthest to the west. */
function outerFirst(rings: ContourPolygon): ContourPolygon {
  const west = rings.map((ring) => ring.reduce((least, [x]) => Math.min(least, x), Infinity))
  const outer = west.indexOf(west.reduce((least, x) => Math.min(least, x), Infinity))
  return [...rings.slice(outer, outer + 1), ...rings.filter((_, i) => i !== outer)]
}
