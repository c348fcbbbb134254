import fc from 'fast-check'
import t from 'tap'
import { type ContourPolygon, contourOf, triangulate } from '../../src/geo/contour.js'

const MARGIN = 5

t.test('contourOf: one point alone, a ring of points around one that is not in, and none', async (t) => {
  const single = areaOf([[0, 0], [10, 0], [0, 10], [-10, 0], [0, -10]], [1, 0, 0, 0, 0]) // biome-ignore format: points
  t.equal(single.length, 1)
  t.equal(single[0]?.length, 1)
  t.ok(signedArea(single[0]?.[0] ?? []) > 0, 'counterclockwise')

  const ring = areaOf([[0, 0], [10, 0], [0, 10], [-10, 0], [0, -10]], [0, 1, 1, 1, 1]) // biome-ignore format: points
  t.equal(ring.length, 1)
  t.equal(ring[0]?.length, 2, 'a hole')
  t.ok(signedArea(ring[0]?.[1] ?? []) < 0, 'clockwise')

  t.same(areaOf([[0, 0], [1, 1]], [0, 0]), []) // biome-ignore format: points
  t.same(areaOf([], []), [])
})

t.test('contourOf: cuts are half way, but no farther out than asked', async (t) => {
  const points = [[0, 0], [64, 0], [0, 64], [-64, 0], [0, -64]] as [number, number][] // biome-ignore format: points
  const far = areaOf(points, [1, 0, 0, 0, 0])
  t.same(new Set(far.flat(2).map(([x = 0, y = 0]) => Math.hypot(x, y))), new Set([32]))
  const near = areaOf(points, [1, 0, 0, 0, 0], 10)
  t.same(new Set(near.flat(2).map(([x = 0, y = 0]) => Math.hypot(x, y))), new Set([8]))
  const least = areaOf(points, [1, 0, 0, 0, 0], 1)
  t.same(new Set(least.flat(2).map(([x = 0, y = 0]) => Math.hypot(x, y))), new Set([2]), '1/32 at least')
})

t.test(
  'property: every inner point lies inside, no other one does, and rings neither touch nor cross',
  async () => {
    // few places: points in rows and columns, close together, far apart
    const coordinate = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: -100_000, max: 100_000 }))
    const places = fc.uniqueArray(fc.tuple(coordinate, coordinate), {
      selector: ([x, y]) => `${x} ${y}`,
      maxLength: 40,
    })
    const cases = places.chain((points) =>
      fc.record({
        points: fc.constant(points),
        isInner: fc.array(fc.constantFrom(0, 1), { minLength: points.length, maxLength: points.length }),
        maxOut: fc.constantFrom(1, 50, Number.POSITIVE_INFINITY),
      }),
    )
    fc.assert(
      fc.property(cases, ({ points, isInner, maxOut }) => {
        const polygons = areaOf(points, isInner, maxOut)
        for (const [i, [x, y]] of points.entries()) {
          if (polygons.flat().some((ring) => ring.some(([a, b]) => a === x && b === y)))
            throw new Error('a point on a border')
          const holders = polygons.filter((polygon) => isInside(polygon, x, y)).length
          if (holders !== isInner[i]) throw new Error(`point ${i} is in ${holders} polygons`)
        }
        const corners = polygons.flat().flatMap((ring) => ring.slice(1).map(([x, y]) => `${x} ${y}`))
        if (new Set(corners).size !== corners.length) throw new Error('rings touch')
        for (const [outer, ...holes] of polygons) {
          if (signedArea(outer ?? []) <= 0) throw new Error('an outer ring runs clockwise')
          if (holes.some((hole) => signedArea(hole) >= 0)) throw new Error('a hole runs counterclockwise')
        }
      }),
      { numRuns: 300 },
    )
  },
)

function areaOf(
  points: readonly (readonly [number, number])[],
  isInner: readonly number[],
  maxOut = Number.POSITIVE_INFINITY,
): ContourPolygon[] {
  const flags = Uint8Array.from([...isInner, 0, 0, 0, 0])
  return contourOf(triangulate(points.flat(), MARGIN), flags, maxOut, Math.hypot)
}

/** Even-odd over all rings of a polygon. */
function isInside(polygon: ContourPolygon, x: number, y: number): boolean {
  let inside = false
  for (const ring of polygon) {
    for (const [i, [ax, ay]] of ring.slice(1).entries()) {
      const [bx, by] = ring[i] ?? [0, 0]
      if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) inside = !inside
    }
  }
  return inside
}

function signedArea(ring: readonly [number, number][]): number {
  const [x0 = 0, y0 = 0] = ring[0] ?? []
  return ring.slice(1).reduce((sum, [bx, by], i) => {
    const [ax, ay] = ring[i] ?? [0, 0]
    return sum + ((ax - x0) * (by - y0) - (bx - x0) * (ay - y0)) / 2
  }, 0)
}
