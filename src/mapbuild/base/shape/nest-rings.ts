/** Area on a grid: the outer ring, then its holes; x, y … without the repeated first point. */
export type Area = number[][]

/** Ring with what nesting needs. */
interface Ring {
  readonly points: number[]
  /** twice the area, without sign */
  readonly area2: number
  readonly box: readonly [number, number, number, number]
}

/**
 * Makes areas of rings that do not cross: a ring in an even number of others is an outer one, any other a hole
 * of the smallest one around it. Outer rings run clockwise on a grid whose y grows to the south (positive by the
 * shoelace formula), holes the other way, as vector tiles have it.
 *
 * @param rings x, y …; simple, without common edges
 */
export function nestRings(rings: readonly number[][]): Area[] {
  const sorted = rings
    .filter((points) => points.length >= 6)
    .map(describe)
    // larger ones first: a ring can only lie in those before it
    .sort((a, b) => b.area2 - a.area2)
  const areas = new Map<number, Area>()
  const depth: number[] = []
  for (const [i, ring] of sorted.entries()) {
    const around: number[] = []
    for (let other = 0; other < i; other++) if (contains(sorted[other]!, ring)) around.push(other)
    depth.push(around.length)
    const parent = around.findLast((other) => depth[other] === around.length - 1)
    if (around.length % 2 === 0) areas.set(i, [oriented(ring.points, 1)])
    else if (parent !== undefined) areas.get(parent)?.push(oriented(ring.points, -1))
  }
  return [...areas.values()]
}

/** Twice the signed area of a ring by the shoelace formula. */
export function signedArea2(points: readonly number[]): number {
  let sum = 0
  for (let at = 0, { length } = points; at < length; at += 2) {
    const next = (at + 2) % length
    sum += points[at]! * points[next + 1]! - points[next]! * points[at + 1]!
  }
  return sum
}

function describe(points: number[]): Ring {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let at = 0; at < points.length; at += 2) {
    minX = Math.min(minX, points[at]!)
    maxX = Math.max(maxX, points[at]!)
    minY = Math.min(minY, points[at + 1]!)
    maxY = Math.max(maxY, points[at + 1]!)
  }
  return { points, area2: Math.abs(signedArea2(points)), box: [minX, minY, maxX, maxY] }
}

function contains(outer: Ring, inner: Ring): boolean {
  const [minX, minY, maxX, maxY] = outer.box
  const [left, top, right, bottom] = inner.box
  if (left < minX || right > maxX || top < minY || bottom > maxY) return false
  // the middle of an edge lies on no other ring: rings share points at most. Doubled, so that it is whole
  const { points } = inner
  return hasPoint(outer.points, points[0]! + points[2]!, points[1]! + points[3]!)
}

/** Even-odd test of a point with doubled coordinates. */
function hasPoint(points: readonly number[], x2: number, y2: number): boolean {
  let isInside = false
  const { length } = points
  for (let at = 0, before = length - 2; at < length; before = at, at += 2) {
    const [ax, ay, bx, by] = [
      points[before]! * 2,
      points[before + 1]! * 2,
      points[at]! * 2,
      points[at + 1]! * 2,
    ]
    if (ay > y2 === by > y2) continue
    // sign of the area instead of a division: exact
    const area = (bx - ax) * (y2 - ay) - (by - ay) * (x2 - ax)
    if (by > ay ? area > 0 : area < 0) isInside = !isInside
  }
  return isInside
}

function oriented(points: number[], sign: 1 | -1): number[] {
  if (Math.sign(signedArea2(points)) === sign) return points
  const turned: number[] = []
  for (let at = points.length - 2; at >= 0; at -= 2) turned.push(points[at]!, points[at + 1]!)
  return turned
}
