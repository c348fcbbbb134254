import type { Geometry, Position } from '../../src/geo/types.js'

/**
 * Slow answers on small integer coordinates (0 to 5), exact because every number stays a small integer.
 *
 * The lines of two geometries cut the plane into corners, pieces of edges and faces. Corners are vertices and
 * crossings; the middle of two corners lies on each piece, the centroid of three in each face: so membership
 * of these sample points decides every question.
 */

/** x = nx / den, y = ny / den */
interface Sample {
  nx: number
  ny: number
  den: number
}
type Edge = readonly [Position, Position]

interface Parts {
  points: Position[]
  lines: Position[][]
  polygons: Position[][][]
}

export function oracleIntersects(a: Geometry, b: Geometry): boolean {
  const [partsA, partsB] = [partsOf(a), partsOf(b)]
  return corners(partsA, partsB).some((sample) => isMember(partsA, sample) && isMember(partsB, sample))
}

/** The samples grow with the cube of the corners: more of them than this would take seconds. */
export function isSmall(a: Geometry, b: Geometry): boolean {
  return corners(partsOf(a), partsOf(b)).length <= 40
}

export function oracleWithin(a: Geometry, b: Geometry): boolean {
  const [partsA, partsB] = [partsOf(a), partsOf(b)]
  let meetInside = false
  for (const sample of samples(partsA, partsB)) {
    if (!isMember(partsA, sample)) continue
    if (!isMember(partsB, sample)) return false
    meetInside ||= isInside(partsA, sample) && isInside(partsB, sample)
  }
  return meetInside
}

function partsOf(geometry: Geometry, parts: Parts = { points: [], lines: [], polygons: [] }): Parts {
  switch (geometry.type) {
    case 'Point':
      parts.points.push(geometry.coordinates)
      break
    case 'MultiPoint':
      parts.points.push(...geometry.coordinates)
      break
    case 'LineString':
      addLine(parts, geometry.coordinates)
      break
    case 'MultiLineString':
      for (const line of geometry.coordinates) addLine(parts, line)
      break
    case 'Polygon':
      parts.polygons.push(geometry.coordinates)
      break
    case 'MultiPolygon':
      parts.polygons.push(...geometry.coordinates)
      break
    case 'GeometryCollection':
      for (const member of geometry.geometries) partsOf(member, parts)
  }
  return parts
}

/** A line without length is a point. */
function addLine(parts: Parts, line: Position[]): void {
  const [start] = line
  if (start === undefined) return
  if (line.every(([x, y]) => x === start[0] && y === start[1])) parts.points.push(start)
  else parts.lines.push(line)
}

function edgesOf(parts: Parts): Edge[] {
  const chains = [...parts.lines, ...parts.polygons.flat()]
  return chains.flatMap((chain) => chain.slice(1).map((end, index): Edge => [chain[index] as Position, end]))
}

function corners(a: Parts, b: Parts): Sample[] {
  const edges = [...edgesOf(a), ...edgesOf(b)]
  const found = [...a.points, ...b.points, ...edges.flat()].map(([nx, ny]): Sample => ({ nx, ny, den: 1 }))
  for (const [p, q] of edges) {
    for (const [r, s] of edges) {
      const [dx, dy, ex, ey] = [q[0] - p[0], q[1] - p[1], s[0] - r[0], s[1] - r[1]]
      const cross = dx * ey - dy * ex
      if (cross === 0) continue
      const t = (r[0] - p[0]) * ey - (r[1] - p[1]) * ex
      if (t / cross < 0 || t / cross > 1) continue
      found.push(positive({ nx: p[0] * cross + dx * t, ny: p[1] * cross + dy * t, den: cross }))
    }
  }
  return [
    ...new Map(
      found.map((sample) => [`${sample.nx / sample.den} ${sample.ny / sample.den}`, sample]),
    ).values(),
  ]
}

function* samples(a: Parts, b: Parts): Generator<Sample> {
  const all = corners(a, b)
  yield* all
  for (let i = 0; i < all.length; i++) {
    for (let j = i + 1; j < all.length; j++) {
      const middle = sum(all[i] as Sample, all[j] as Sample)
      yield { ...middle, den: middle.den * 2 }
      for (let k = j + 1; k < all.length; k++) {
        const three = sum(middle, all[k] as Sample)
        yield { ...three, den: three.den * 3 }
      }
    }
  }
}

function sum(a: Sample, b: Sample): Sample {
  return { nx: a.nx * b.den + b.nx * a.den, ny: a.ny * b.den + b.ny * a.den, den: a.den * b.den }
}

function positive({ nx, ny, den }: Sample): Sample {
  return den < 0 ? { nx: -nx, ny: -ny, den: -den } : { nx, ny, den }
}

function isMember(parts: Parts, sample: Sample): boolean {
  if (parts.points.some((point) => isAt(point, sample))) return true
  if (edgesOf(parts).some((edge) => isOn(edge, sample))) return true
  return parts.polygons.some((rings) => isEvenOddInside(rings, sample))
}

function isInside(parts: Parts, sample: Sample): boolean {
  if (parts.points.some((point) => isAt(point, sample))) return true
  const isInArea = (rings: Position[][]) =>
    isEvenOddInside(rings, sample) &&
    !edgesOf({ points: [], lines: [], polygons: [rings] }).some((edge) => isOn(edge, sample))
  if (parts.polygons.some(isInArea)) return true
  const ends = parts.lines.flatMap((line) => [line[0] as Position, line[line.length - 1] as Position])
  const isOnLine = edgesOf({ points: [], lines: parts.lines, polygons: [] }).some((edge) =>
    isOn(edge, sample),
  )
  return isOnLine && ends.filter((end) => isAt(end, sample)).length % 2 === 0
}

function isAt([x, y]: Position, { nx, ny, den }: Sample): boolean {
  return x * den === nx && y * den === ny
}

function isOn([p, q]: Edge, { nx, ny, den }: Sample): boolean {
  const [px, py, qx, qy] = [p[0] * den - nx, p[1] * den - ny, q[0] * den - nx, q[1] * den - ny]
  return px * qy === py * qx && px * qx <= 0 && py * qy <= 0
}

function isEvenOddInside(rings: Position[][], { nx, ny, den }: Sample): boolean {
  let isIn = false
  for (const [p, q] of edgesOf({ points: [], lines: [], polygons: [rings] })) {
    const [px, py, qx, qy] = [p[0] * den - nx, p[1] * den - ny, q[0] * den - nx, q[1] * den - ny]
    if (py > 0 === qy > 0) continue
    const cross = px * qy - py * qx
    if (cross !== 0 && cross > 0 === qy > py) isIn = !isIn
  }
  return isIn
}
