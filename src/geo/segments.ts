import { orient2d } from 'robust-predicates'
import type { Bbox } from './types.js'

/**
 * Returns true when the closed segments a–b and c–d share a point. Exact; a segment may be a single point.
 *
 * @see J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates",
 *   1997
 */
export function segmentsTouch(
  ax: number,
  ay: number,
  bx: number,
  by: number,
  cx: number,
  cy: number,
  dx: number,
  dy: number,
): boolean {
  // boxes first: cheap, and sufficient when all four points are on one line
  if (Math.max(ax, bx) < Math.min(cx, dx) || Math.max(cx, dx) < Math.min(ax, bx)) return false
  if (Math.max(ay, by) < Math.min(cy, dy) || Math.max(cy, dy) < Math.min(ay, by)) return false
  const sideC = orient2d(ax, ay, bx, by, cx, cy)
  const sideD = orient2d(ax, ay, bx, by, dx, dy)
  if ((sideC > 0 && sideD > 0) || (sideC < 0 && sideD < 0)) return false
  const sideA = orient2d(cx, cy, dx, dy, ax, ay)
  const sideB = orient2d(cx, cy, dx, dy, bx, by)
  return !((sideA > 0 && sideB > 0) || (sideA < 0 && sideB < 0))
}

/** Returns true when the point p is on the closed segment a–b. Exact. */
export function isOnSegment(px: number, py: number, ax: number, ay: number, bx: number, by: number): boolean {
  if (px < Math.min(ax, bx) || px > Math.max(ax, bx)) return false
  if (py < Math.min(ay, by) || py > Math.max(ay, by)) return false
  return orient2d(ax, ay, bx, by, px, py) === 0
}

/**
 * Returns true when the segment a–b enters the open rectangle; touching its border is not enough. Exact.
 *
 * @param box [west, south, east, north], with a width and a height
 */
export function entersRectangle(ax: number, ay: number, bx: number, by: number, box: Bbox): boolean {
  const west = box[0]
  const south = box[1]
  const east = box[2]
  const north = box[3]
  if (ax > west && ax < east && ay > south && ay < north) return true
  if ((ax <= west && bx <= west) || (ax >= east && bx >= east)) return false
  if ((ay <= south && by <= south) || (ay >= north && by >= north)) return false
  // both ends are outside and the boxes overlap: it enters exactly when corners lie strictly on both of its
  // sides
  const sw = orient2d(ax, ay, bx, by, west, south)
  const ne = orient2d(ax, ay, bx, by, east, north)
  const nw = orient2d(ax, ay, bx, by, west, north)
  const se = orient2d(ax, ay, bx, by, east, south)
  const isLeft = sw > 0 || ne > 0 || nw > 0 || se > 0
  const isRight = sw < 0 || ne < 0 || nw < 0 || se < 0
  return isLeft && isRight
}
