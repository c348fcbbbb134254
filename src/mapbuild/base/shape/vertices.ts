/**
 * Line or ring as x, y, importance of each vertex, one after the other. x and y are units of the world (2^26
 * across, y to the south). The importance is the squared distance from the line without the vertex; a
 * simplified line keeps vertices above a limit, so that all tiles of a zoom keep the same ones.
 */
export type Vertices = number[]

/** Numbers of a vertex. */
export const STRIDE = 3
/** Importance of a vertex that is always kept. */
export const KEPT = 1e30

/** Longer lines are simplified in parts: the method is quadratic at worst. */
const PART = 1024

/**
 * Adds the importance of each vertex.
 *
 * @param points x, y, x, y …; the first is repeated at the end of a ring
 * @see D. Douglas, T. Peucker, "Algorithms for the reduction of the number of points", 1973
 */
export function toVertices(points: readonly number[]): Vertices {
  const count = points.length / 2
  const vertices: Vertices = new Array(count * STRIDE)
  for (let i = 0; i < count; i++) {
    vertices[i * STRIDE] = points[i * 2]!
    vertices[i * STRIDE + 1] = points[i * 2 + 1]!
    vertices[i * STRIDE + 2] = 0
  }
  const anchors = anchorsOf(points)
  for (const anchor of anchors) vertices[anchor * STRIDE + 2] = KEPT
  for (let i = 1; i < anchors.length; i++) rate(vertices, anchors[i - 1]!, anchors[i]!)
  return vertices
}

/** Vertices that are always kept: both ends, the farthest from the first in a ring, and one in each part. */
function anchorsOf(points: readonly number[]): number[] {
  const last = points.length / 2 - 1
  const anchors = new Set([0, last])
  if (points[0] === points[last * 2] && points[1] === points[last * 2 + 1])
    anchors.add(farthestFromFirst(points))
  for (let at = PART; at < last; at += PART) anchors.add(at)
  return [...anchors].sort((a, b) => a - b)
}

function farthestFromFirst(points: readonly number[]): number {
  let most = -1
  let farthest = 0
  for (let at = 0; at < points.length; at += 2) {
    const distance2 = (points[at]! - points[0]!) ** 2 + (points[at + 1]! - points[1]!) ** 2
    if (distance2 > most) {
      most = distance2
      farthest = at / 2
    }
  }
  return farthest
}

/** Rates the vertices between two kept ones. No vertex is more important than the one that parted its piece. */
function rate(vertices: Vertices, first: number, last: number): void {
  const pending = [first, last, KEPT]
  while (pending.length > 0) {
    const limit = pending.pop()!
    const to = pending.pop()!
    const from = pending.pop()!
    let most = -1
    let farthest = -1
    for (let i = from + 1; i < to; i++) {
      const distance2 = squaredDistance(vertices, i, from, to)
      // of equal ones the first, so that the result does not depend on rounding elsewhere
      if (distance2 > most) {
        most = distance2
        farthest = i
      }
    }
    if (farthest < 0) continue
    const importance = Math.min(most, limit)
    vertices[farthest * STRIDE + 2] = importance
    pending.push(from, farthest, importance, farthest, to, importance)
  }
}

function squaredDistance(vertices: Vertices, i: number, from: number, to: number): number {
  const x0 = vertices[from * STRIDE]!
  const y0 = vertices[from * STRIDE + 1]!
  const dx = vertices[to * STRIDE]! - x0
  const dy = vertices[to * STRIDE + 1]! - y0
  const px = vertices[i * STRIDE]! - x0
  const py = vertices[i * STRIDE + 1]! - y0
  const length2 = dx * dx + dy * dy
  const share = length2 === 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / length2))
  return (px - share * dx) ** 2 + (py - share * dy) ** 2
}
