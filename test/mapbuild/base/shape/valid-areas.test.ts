import fc from 'fast-check'
import t from 'tap'
import { signedArea2 } from '../../../../src/mapbuild/base/shape/nest-rings.js'
import { validAreas } from '../../../../src/mapbuild/base/shape/valid-areas.js'

const square = (x: number, y: number, side: number) => [x, y, x + side, y, x + side, y + side, x, y + side]

/** Areas as texts: the points of each ring, from the smallest on, so that the start does not matter. */
const shapes = (rings: number[][]) =>
  validAreas(rings)!.map((area) =>
    area
      .map((ring) =>
        ring
          .flatMap((x, i) => (i % 2 === 0 ? [`${x},${ring[i + 1]}`] : []))
          .sort()
          .join(' '),
      )
      .join(' | '),
  )

t.test(
  'validAreas: a ring inside another is a hole, whatever its direction; one inside that an area',
  async (t) => {
    const reversed = [0, 0, 0, 10, 10, 10, 10, 0]
    t.same(shapes([reversed, square(2, 2, 6), square(4, 4, 2)]), [
      '0,0 0,10 10,0 10,10 | 2,2 2,8 8,2 8,8',
      '4,4 4,6 6,4 6,6',
    ])
    const [[outer, hole] = []] = validAreas([reversed, square(2, 2, 6)])!
    t.ok(signedArea2(outer!) > 0, 'outer rings are positive in tiles')
    t.ok(signedArea2(hole!) < 0)
  },
)

t.test('validAreas: areas that touch in a point, in a line, and a hole at the border', async (t) => {
  t.same(shapes([square(0, 0, 4), square(4, 4, 4)]), ['0,0 0,4 4,0 4,4', '4,4 4,8 8,4 8,8'])
  t.same(shapes([square(0, 0, 4), square(4, 0, 4)]), ['0,0 0,4 8,0 8,4'], 'a common edge is no border')
  const touching = [0, 4, 2, 2, 4, 4, 2, 6]
  t.same(shapes([square(0, 0, 8), touching]), ['0,0 0,8 8,0 8,8 | 0,4 2,2 2,6 4,4'], 'at one point')
  const across = [0, 4, 4, 0, 8, 4, 4, 8]
  t.equal(validAreas([square(0, 0, 8), across])!.length, 4, 'at four points: the inside falls into four')
})

t.test('validAreas: rings that cross themselves, go there and back, or have no area', async (t) => {
  t.same(shapes([[0, 0, 4, 4, 4, 0, 0, 4]]), ['0,0 0,4 2,2', '2,2 4,0 4,4'])
  t.same(shapes([[0, 0, 4, 0, 4, 4, 0, 4, 0, 0, -3, 0]]), ['0,0 0,4 4,0 4,4'], 'a spike')
  t.same(shapes([[0, 0, 4, 0]]), [])
  t.same(shapes([[0, 0, 0, 0]]), [])
  t.same(shapes([square(0, 0, 4), square(0, 0, 4)]), [], 'twice the same is nothing')
})

t.test('validAreas: too entangled rings are refused', async (t) => {
  const spread = Array.from({ length: 4000 }, (_, i) => [
    i % 2 === 0 ? -16000 : 16000,
    (i * 7919) % 16000,
  ]).flat()
  t.equal(validAreas([spread]), undefined)
})

t.test('property: areas of any rings are valid, and have the even-odd area of the rings', async () => {
  const coordinate = fc.integer({ min: -12, max: 12 })
  const ring = fc
    .array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 14 })
    .map((points) => points.flat())
  fc.assert(
    fc.property(fc.array(ring, { minLength: 1, maxLength: 3 }), (rings) => {
      const areas = validAreas(rings)!
      const faults = faultsOf(areas)
      if (faults.length > 0) throw new Error(faults.join('; '))
    }),
    { numRuns: 1500 },
  )
  // rings whose edges meet on the grid alone keep their area to the last digit
  const cell = fc.integer({ min: 0, max: 6 })
  const cells = fc.uniqueArray(fc.tuple(cell, cell), { minLength: 1, maxLength: 30, selector: String })
  fc.assert(
    fc.property(cells, (list) => {
      const areas = validAreas(list.map(([x, y]) => square(x, y, 1)))!
      const total = areas.flat().reduce((sum, each) => sum + signedArea2(each), 0)
      return total === 2 * list.length && faultsOf(areas).length === 0
    }),
    { numRuns: 500 },
  )
})

/** What is wrong with areas, by comparing every edge with every other one. */
function faultsOf(areas: readonly number[][][]): string[] {
  const faults: string[] = []
  const edges: { points: number[]; ring: number[]; at: number }[] = []
  for (const [outer, ...holes] of areas) {
    if (signedArea2(outer!) <= 0) faults.push('an outer ring runs the wrong way')
    for (const hole of holes) {
      if (signedArea2(hole) >= 0) faults.push('a hole runs the wrong way')
      if (
        !hole.some(
          (_, i) =>
            i % 2 === 0 &&
            isInside(
              outer!,
              (hole[i]! + hole[(i + 2) % hole.length]!) / 2,
              (hole[i + 1]! + hole[(i + 3) % hole.length]!) / 2,
            ),
        )
      )
        faults.push('a hole lies outside')
    }
    for (const ring of [outer!, ...holes]) {
      const points = ring.flatMap((x, i) => (i % 2 === 0 ? [`${x},${ring[i + 1]}`] : []))
      if (new Set(points).size < points.length)
        faults.push(`a ring visits a point twice: ${points.join(' ')}`)
      for (let at = 0; at < ring.length; at += 2) {
        const next = (at + 2) % ring.length
        edges.push({ points: [ring[at]!, ring[at + 1]!, ring[next]!, ring[next + 1]!], ring, at })
      }
    }
  }
  for (const [i, a] of edges.entries()) {
    for (const b of edges.slice(i + 1))
      if (crosses(a.points, b.points)) faults.push(`${a.points} crosses ${b.points}`)
  }
  return faults
}

/** True where two edges have more in common than one point that is an end of at least one of them. */
function crosses([ax, ay, bx, by]: number[], [cx, cy, dx, dy]: number[]): boolean {
  const side = (px: number, py: number, qx: number, qy: number, x: number, y: number) =>
    Math.sign((qx - px) * (y - py) - (qy - py) * (x - px))
  const [c, d] = [side(ax!, ay!, bx!, by!, cx!, cy!), side(ax!, ay!, bx!, by!, dx!, dy!)]
  const [e, f] = [side(cx!, cy!, dx!, dy!, ax!, ay!), side(cx!, cy!, dx!, dy!, bx!, by!)]
  if (c === 0 && d === 0) {
    const along = (x: number, y: number) => (x - ax!) * (bx! - ax!) + (y - ay!) * (by! - ay!)
    const length = along(bx!, by!)
    const [from, to] = [along(cx!, cy!), along(dx!, dy!)].sort((p, q) => p - q)
    return Math.min(to!, length) > Math.max(from!, 0)
  }
  return c * d < 0 && e * f < 0
}

function isInside(ring: readonly number[], x: number, y: number): boolean {
  let inside = false
  for (let at = 0, before = ring.length - 2; at < ring.length; before = at, at += 2) {
    const [ax, ay, bx, by] = [ring[before]!, ring[before + 1]!, ring[at]!, ring[at + 1]!]
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside
  }
  return inside
}
