import { orient2d } from 'robust-predicates'

/**
 * A single closed ring of few positions, x, y, x, y …, the last equal to the first. For thousands of small areas: a
 * `Shape` of each would be ten arrays in ten places of the memory, which costs more than the comparisons.
 */
export type Ring = readonly number[]

/** More positions are better kept in a tree of boxes. */
export const MAX_RING_POSITIONS = 17

const SLACK = 1e-9

/** The same as `cutsOfSegment`. */
export function cutsOfRing(
  ring: Ring,
  ax: number,
  ay: number,
  bx: number,
  by: number,
  cuts: number[],
): number {
  const dx = bx - ax
  const dy = by - ay
  const lengthSquared = dx * dx + dy * dy
  let count = 0
  for (let i = 0, end = ring.length - 2; i < end; i += 2) {
    // relative to the segment's beginning, so that little is lost to rounding
    const qx = ring[i]! - ax
    const qy = ring[i + 1]! - ay
    const ex = ring[i + 2]! - ring[i]!
    const ey = ring[i + 3]! - ring[i + 1]!
    const cross = dx * ey - dy * ex
    if (cross * cross > lengthSquared * (ex * ex + ey * ey) * 1e-24) {
      const t = (qx * ey - qy * ex) / cross
      const u = (qx * dy - qy * dx) / cross
      if (t > 0 && t < 1 && u >= -SLACK && u <= 1 + SLACK) cuts[count++] = t
    } else if (lengthSquared > 0) {
      // parallel: if it runs along the segment, its ends are where it begins and stops to do so
      const t = (qx * dx + qy * dy) / lengthSquared
      const t2 = ((qx + ex) * dx + (qy + ey) * dy) / lengthSquared
      if (t > 0 && t < 1) cuts[count++] = t
      if (t2 > 0 && t2 < 1) cuts[count++] = t2
    }
  }
  return count
}

/** Does the box of any edge meet a box? If not, the box lies wholly inside or wholly outside. */
export function hasRingEdgeNear(
  ring: Ring,
  west: number,
  south: number,
  east: number,
  north: number,
): boolean {
  for (let i = 0, end = ring.length - 2; i < end; i += 2) {
    const isApart =
      (ring[i]! < west && ring[i + 2]! < west) ||
      (ring[i]! > east && ring[i + 2]! > east) ||
      (ring[i + 1]! < south && ring[i + 3]! < south) ||
      (ring[i + 1]! > north && ring[i + 3]! > north)
    if (!isApart) return true
  }
  return false
}

/** The same as `isInAreasHalfOpen`: exact, a point on the common border of two areas belongs to one of them. */
export function isInRingHalfOpen(ring: Ring, x: number, y: number): boolean {
  let isIn = false
  for (let i = 0, end = ring.length - 2; i < end; i += 2) {
    const ay = ring[i + 1]!
    const by = ring[i + 3]!
    if (ay > y === by > y) continue
    const ax = ring[i]!
    const bx = ring[i + 2]!
    if (ax < x && bx < x) continue
    // robust-predicates: positive = the point is to the right of a → b
    const side = ax > x && bx > x ? (by > ay ? -1 : 1) : orient2d(ax, ay, bx, by, x, y)
    if (side !== 0 && side < 0 === by > ay) isIn = !isIn
  }
  return isIn
}
