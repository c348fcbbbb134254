import { orient2d } from 'robust-predicates'

/**
 * Do two closed segments share a point? Exact; a segment may be a single point.
 *
 * @see J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997
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
  // boxes first: it is cheap, and it is the whole answer when all four points are on one line
  if (Math.max(ax, bx) < Math.min(cx, dx) || Math.max(cx, dx) < Math.min(ax, bx)) return false
  if (Math.max(ay, by) < Math.min(cy, dy) || Math.max(cy, dy) < Math.min(ay, by)) return false
  const sideC = orient2d(ax, ay, bx, by, cx, cy)
  const sideD = orient2d(ax, ay, bx, by, dx, dy)
  if ((sideC > 0 && sideD > 0) || (sideC < 0 && sideD < 0)) return false
  const sideA = orient2d(cx, cy, dx, dy, ax, ay)
  const sideB = orient2d(cx, cy, dx, dy, bx, by)
  return !((sideA > 0 && sideB > 0) || (sideA < 0 && sideB < 0))
}

/** Is a point on a closed segment? Exact. */
export function isOnSegment(px: number, py: number, ax: number, ay: number, bx: number, by: number): boolean {
  if (px < Math.min(ax, bx) || px > Math.max(ax, bx)) return false
  if (py < Math.min(ay, by) || py > Math.max(ay, by)) return false
  return orient2d(ax, ay, bx, by, px, py) === 0
}

/**
 * Does a segment pass through the open rectangle, that is, come inside it and not merely touch its border? Exact.
 * The rectangle must have a width and a height.
 */
export function entersRectangle(
  ax: number,
  ay: number,
  bx: number,
  by: number,
  west: number,
  south: number,
  east: number,
  north: number,
): boolean {
  if (ax > west && ax < east && ay > south && ay < north) return true
  if ((ax <= west && bx <= west) || (ax >= east && bx >= east)) return false
  if ((ay <= south && by <= south) || (ay >= north && by >= north)) return false
  // both ends are outside and the boxes overlap: it comes inside just when two corners lie strictly on its two sides
  const sw = orient2d(ax, ay, bx, by, west, south)
  const ne = orient2d(ax, ay, bx, by, east, north)
  const nw = orient2d(ax, ay, bx, by, west, north)
  const se = orient2d(ax, ay, bx, by, east, south)
  const isLeft = sw > 0 || ne > 0 || nw > 0 || se > 0
  const isRight = sw < 0 || ne < 0 || nw < 0 || se < 0
  return isLeft && isRight
}
