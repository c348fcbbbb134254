import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { intersects, shapesIntersect } from '../../src/geo/intersects.js'
import { shapeOf } from '../../src/geo/shape.js'
import { sweepIntersects } from '../../src/geo/sweep.js'
import type { Geometry, Position } from '../../src/geo/types.js'
import { isWithinShape } from '../../src/geo/within.js'
import { boxRing as box } from '../support/boxes.js'
import { anyGeometry, latticePosition } from '../support/geometries.js'
import { oracleIntersects } from '../support/plane-oracle.js'

const sweep = (a: Geometry, b: Geometry) => sweepIntersects(shapeOf(a), shapeOf(b))

t.test('property: a sweep that decides says what the oracle says, for any pair of types', async (t) => {
  let decided = 0
  for (const size of [3, 5, 12]) {
    const lattice = anyGeometry(latticePosition(size))
    const property = fc.property(lattice, lattice, (a, b) => {
      const expected = oracleIntersects(a, b)
      for (const found of [sweep(a, b), sweep(b, a)]) {
        if (found !== undefined) equal(found, expected)
        if (found !== undefined) decided++
      }
    })
    fc.assert(property, { numRuns: 1500 })
  }
  t.ok(decided > 2000, `${decided} of 9000`)
})

/** A ring around the origin whose vertices are at the given distances: it does not cross itself. */
function starOf(distances: readonly number[], [x, y]: readonly [number, number]): Geometry {
  const ring = distances.map((distance, at): Position => {
    const angle = (2 * Math.PI * at) / distances.length
    return [Math.round(x + distance * Math.cos(angle)), Math.round(y + distance * Math.sin(angle))]
  })
  return { type: 'Polygon', coordinates: [[...ring, ring[0] as Position]] }
}

t.test('property: a sweep says of simple rings, lines and points what the tree says', async (t) => {
  const place = fc.tuple(fc.integer({ min: -60, max: 60 }), fc.integer({ min: -60, max: 60 }))
  const star = fc
    .tuple(fc.array(fc.integer({ min: 5, max: 60 }), { minLength: 3, maxLength: 40 }), place)
    .map(([distances, centre]) => starOf(distances, centre))
  const points = fc
    .array(place, { minLength: 1, maxLength: 20 })
    .map((coordinates): Geometry => ({ type: 'MultiPoint', coordinates }))
  const lines = fc
    .array(fc.tuple(place, place), { minLength: 1, maxLength: 5 })
    .map((coordinates): Geometry => ({ type: 'MultiLineString', coordinates }))
  const any = fc.oneof(star, points, lines)
  let decided = 0
  const property = fc.property(star, any, (a, b) => {
    const found = sweep(a, b)
    if (found === undefined) return
    decided++
    equal(found, oracleIntersects(a, b))
    equal(intersects(a, b), found)
  })
  fc.assert(property, { numRuns: 3000 })
  t.ok(decided > 1500, `${decided} of 3000`)
})

const line = (...coordinates: Position[]): Geometry => ({ type: 'LineString', coordinates })
const polygon = (...coordinates: Position[][]): Geometry => ({ type: 'Polygon', coordinates })

t.test('sweep: touching, nested, vertical, collinear and crossing', async (t) => {
  const square = polygon(box(0, 0, 8, 8))
  const holed = polygon(box(0, 0, 8, 8), box(2, 2, 6, 6))
  const cases: [string, Geometry, Geometry, boolean | undefined][] = [
    ['a corner', square, polygon(box(8, 8, 9, 9)), true],
    ['a common border', square, polygon(box(8, 0, 9, 8)), true],
    ['a part of a border', square, line([8, 2], [8, 3]), true],
    ['inside', square, polygon(box(3, 3, 4, 4)), true],
    ['in a hole', holed, polygon(box(3, 3, 4, 4)), false],
    ['in a hole, on its border', holed, line([3, 3], [2, 4]), true],
    ['beside', square, line([9, 0], [9, 8]), false],
    ['over', square, line([0, 9], [8, 9]), false],
    ['one point', line([1, 1], [2, 2]), { type: 'Point', coordinates: [1.5, 1.5] }, true],
    [
      'equal points',
      { type: 'MultiPoint', coordinates: [[1, 1]] },
      { type: 'Point', coordinates: [1, 1] },
      true,
    ],
    [
      'other points',
      { type: 'MultiPoint', coordinates: [[1, 1]] },
      { type: 'Point', coordinates: [1, 2] },
      false,
    ],
    ['a point in a hole', holed, { type: 'Point', coordinates: [4, 4] }, false],
    ['the end of one on the other', line([0, 0], [8, 0]), line([4, 0], [4, 4]), true],
    ['collinear, apart', line([0, 0], [2, 2]), line([3, 3], [4, 4]), false],
    ['collinear, overlapping', line([0, 0], [3, 3]), line([2, 2], [4, 4]), true],
    ['four edges at one vertex', line([0, 0], [4, 4], [8, 8]), line([0, 8], [4, 4], [8, 0]), true],
    ['a line that crosses itself', line([0, 0], [4, 4], [4, 0], [0, 4]), line([9, 9], [10, 9]), undefined],
    ['a line that touches itself', line([0, 0], [4, 0], [4, 4], [2, 0]), line([9, 9], [10, 9]), undefined],
  ]
  for (const [name, a, b, expected] of cases) {
    t.equal(sweep(a, b), expected, name)
    t.equal(sweep(b, a), expected, `${name}, the other way round`)
  }
})

/** Long diagonal lines side by side: the boxes of their edges all overlap. */
function diagonals(count: number, offset: number): Geometry {
  const at = (index: number) => (index + offset) / count
  return {
    type: 'MultiLineString',
    coordinates: Array.from({ length: count }, (_, index): Position[] => [
      [at(index) + 1, 1],
      [at(index) + 9, 9],
    ]),
  }
}

/** A comb of diagonal teeth, each a quarter as wide as the space between two. */
function comb(teeth: number): Geometry {
  const width = 1 / teeth / 4
  const ring = Array.from({ length: teeth }, (_, tooth): Position[] => {
    const at = tooth / teeth
    return [
      [at, 0],
      [at + 10, 10],
      [at + 10 + width, 10],
      [at + width, 0],
    ]
  }).flat()
  return { type: 'Polygon', coordinates: [[...ring, [1, -1], [0, -1], [0, 0]]] }
}

t.test(
  'intersects: edges whose boxes all overlap, where the tree gives up and the sweep decides',
  async (t) => {
    const count = 3000
    const between = comb(count)
    t.equal(intersects(diagonals(count, 0), diagonals(count, 0.5)), false)
    t.equal(intersects(between, diagonals(count, 0.6)), false)
    t.equal(intersects(between, diagonals(count, 0.1)), true, 'in the teeth')
    const crossing = line([1.2, 1], [1.4, 1.201])
    const joined: Geometry = { type: 'GeometryCollection', geometries: [diagonals(count, 0.5), crossing] }
    t.equal(intersects(diagonals(count, 0), joined), true)
  },
)

t.test('intersects: a test of large geometries ends when it is told to, by tree and by sweep', async (t) => {
  const [a, b] = [shapeOf(comb(2000)), shapeOf(diagonals(2000, 0.6))]
  let calls = 0
  shapesIntersect(a, b, () => void calls++)
  t.ok(calls > 4000, `${calls} looks`)
  for (const last of [1, Math.floor(calls / 2), calls]) {
    let looks = 0
    const end = () => {
      if (++looks === last) throw new Error('ended')
    }
    t.throws(() => shapesIntersect(a, b, end), { message: 'ended' })
  }
  t.throws(
    () =>
      isWithinShape(a, a, () => {
        throw new Error('ended')
      }),
    { message: 'ended' },
  )
})
