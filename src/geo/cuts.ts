import { KIND, type Shape } from './shape.js'

/** Cuts this close to an end of an edge, as a share of its length, still count: one too many does no harm. */
const SLACK = 1e-9

/**
 * Where the lines and borders of a shape may cut a segment, as fractions of the segment within 0 … 1, unsorted. Every
 * place where the segment changes sides is among them to within rounding; there may be more.
 *
 * @param cuts filled from its beginning, and never shortened
 * @returns number of cuts
 */
export function cutsOfSegment(
  shape: Shape,
  ax: number,
  ay: number,
  bx: number,
  by: number,
  cuts: number[],
): number {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  const west = Math.min(ax, bx)
  const east = Math.max(ax, bx)
  const south = Math.min(ay, by)
  const north = Math.max(ay, by)
  const dx = bx - ax
  const dy = by - ay
  const lengthSquared = dx * dx + dy * dy
  let count = 0
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(west <= box[at + 2]! && east >= box[at]! && south <= box[at + 3]! && north >= box[at + 1]!)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2) {
        // relative to the segment's beginning, so that little is lost to rounding
        const qx = xy[i]! - ax
        const qy = xy[i + 1]! - ay
        const ex = xy[i + 2]! - xy[i]!
        const ey = xy[i + 3]! - xy[i + 1]!
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
    }
    node++
  }
  return count
}

/** Does the box of any edge of the shape meet a box? If not, the box lies wholly in one face. */
export function hasEdgeNear(shape: Shape, west: number, south: number, east: number, north: number): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    if (!(west <= box[at + 2]! && east >= box[at]! && south <= box[at + 3]! && north >= box[at + 1]!)) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2) {
        const isApart =
          Math.max(xy[i]!, xy[i + 2]!) < west ||
          Math.min(xy[i]!, xy[i + 2]!) > east ||
          Math.max(xy[i + 1]!, xy[i + 3]!) < south ||
          Math.min(xy[i + 1]!, xy[i + 3]!) > north
        if (!isApart) return true
      }
    }
    node++
  }
  return false
}
