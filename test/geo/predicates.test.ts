import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { intersects } from '../../src/geo/intersects.js'
import { prepareArea } from '../../src/geo/prepared-area.js'
import type { Geometry, Position } from '../../src/geo/types.js'
import { within } from '../../src/geo/within.js'
import { encodeWkb } from '../../src/geo/wkb.js'
import { boxRing as box } from '../support/boxes.js'
import { anyGeometry, latticePosition } from '../support/geometries.js'
import { isSmall, oracleIntersects, oracleWithin } from '../support/plane-oracle.js'

const lattice = anyGeometry(latticePosition(5))

t.test('property: intersects equals the oracle for any pair of types, both ways round', async () => {
  const property = fc.property(lattice, lattice, (a, b) => {
    const expected = oracleIntersects(a, b)
    equal(intersects(a, b), expected)
    equal(intersects(b, a), expected)
    equal(prepareArea(a).intersectsWkb(encodeWkb(b)), expected)
  })
  fc.assert(property, { numRuns: 1500 })
})

t.test('property: an area is called away from a box only where the two do not intersect', async () => {
  const corner = latticePosition(5)
  const size = fc.constantFrom(0, 1e-7, 0.5, 1, 2.25)
  const property = fc.property(lattice, corner, size, size, (geometry, [west, south], width, height) => {
    const area = prepareArea(geometry)
    const [east, north] = [west + width, south + height]
    const may = area.mayIntersectBox(west, south, east, north)
    const doesTouch = (by: number) =>
      area.intersectsGeometry({
        type: 'Polygon',
        coordinates: [box(west - by, south - by, east + by, north + by)],
      })
    if (!may) equal(doesTouch(0) || area.intersectsPoint(west, south), false)
    else equal(doesTouch(1e-6), true, 'a box that is further away than rounding errors')
  })
  fc.assert(property, { numRuns: 1500 })
})

t.test(
  'prepareArea: a wavy ring leaves out the boxes outside of it; one of many positions none',
  async (t) => {
    const boxes = Array.from(
      { length: 2500 },
      (_, at) => [(at % 50) * 0.9, Math.floor(at / 50) * 0.9] as const,
    )
    for (const [corners, isTested] of [
      [100, true],
      [3000, false],
    ] as const) {
      const ring = star(corners, 1)
      const area = prepareArea({ type: 'Polygon', coordinates: [ring] })
      const left = boxes.filter(([x, y]) => !area.mayIntersectBox(x, y, x, y))
      t.equal(left.length > 0, isTested, `${corners} corners`)
      if (isTested)
        t.same(
          left,
          boxes.filter(([x, y]) => !isInRing(ring, x, y)),
        )
    }
  },
)

t.test('property: within equals the oracle for any pair of types', async () => {
  const small = anyGeometry(latticePosition(3))
  const property = fc.property(small, small, (a, b) => {
    fc.pre(isSmall(a, b))
    equal(within(a, b), oracleWithin(a, b))
  })
  fc.assert(property, { numRuns: 400 })
})

t.test('within: a line along a border is within, where a point of the collection lies on it', (t) => {
  const line: Geometry = { type: 'LineString', coordinates: [[0, 0], [2, 0]] } // biome-ignore format: a line
  const area: Geometry = { type: 'Polygon', coordinates: [box(0, 0, 2, 2)] }
  const withPoint = (x: number, y: number): Geometry => ({
    type: 'GeometryCollection',
    geometries: [area, { type: 'Point', coordinates: [x, y] }],
  })
  t.equal(within(line, area), false, 'on the border alone')
  t.equal(within(line, withPoint(1, 0)), true)
  t.equal(within(line, withPoint(0, 0)), false, 'an end of a line is not inside it')
  t.equal(within(line, withPoint(1, 1)), false)
  t.end()
})

t.test(
  'property: every geometry that has an inside is within itself, shifted and scaled exactly too',
  async () => {
    const property = fc.property(lattice, fc.integer({ min: -20, max: 20 }), (geometry, power) => {
      fc.pre(isSmall(geometry, geometry))
      const moved = map(geometry, (x) => x * 2 ** power)
      equal(within(moved, moved), oracleWithin(geometry, geometry))
    })
    fc.assert(property, { numRuns: 100 })
  },
)

t.test('property: large shapes, where the tree matters, answer as their small parts do', async () => {
  const wavy = fc.tuple(fc.integer({ min: 20, max: 200 }), fc.double({ min: 0, max: 6, noNaN: true }))
  const property = fc.property(
    wavy,
    fc.array(latticePosition(40), { minLength: 1, maxLength: 20 }),
    ([n, phase], places) => {
      const ring = star(n, phase)
      const area = prepareArea({ type: 'Polygon', coordinates: [ring] })
      for (const [x, y] of places) equal(area.intersectsPoint(x, y), isInRing(ring, x, y))
      const fan = places.map(
        ([x, y]): Geometry => ({
          type: 'LineString',
          coordinates: [
            [20, 20],
            [x, y],
          ],
        }),
      )
      const whole: Geometry = { type: 'GeometryCollection', geometries: fan }
      const hole: Geometry = {
        type: 'Polygon',
        coordinates: [
          [
            [-9, -9],
            [50, -9],
            [50, 50],
            [-9, 50],
            [-9, -9],
          ],
          ring,
        ],
      }
      equal(
        intersects(hole, whole),
        fan.some((line) => intersects(hole, line)),
      )
    },
  )
  fc.assert(property, { numRuns: 100 })
})

const square: Geometry = { type: 'Polygon', coordinates: [box(0, 0, 4, 4)] }
const holed: Geometry = { type: 'Polygon', coordinates: [box(0, 0, 4, 4), box(1, 1, 3, 3)] }
const point = (x: number, y: number): Geometry => ({ type: 'Point', coordinates: [x, y] })
const line = (...coordinates: Position[]): Geometry => ({ type: 'LineString', coordinates })

t.test('intersects: borders, holes, ends and empty geometries', async (t) => {
  const yes: [string, Geometry, Geometry][] = [
    ['a corner', square, point(4, 4)],
    ['a border', square, point(4, 2)],
    ['the border of a hole', holed, point(1, 2)],
    ['two areas that share a corner', square, { type: 'Polygon', coordinates: [box(4, 4, 5, 5)] }],
    ['an area inside another', square, { type: 'Polygon', coordinates: [box(1, 1, 2, 2)] }],
    ['an area that fills a hole', holed, { type: 'Polygon', coordinates: [box(1, 1, 3, 3)] }],
    ['a line that ends on a border', square, line([4, 2], [9, 2])],
    ['an outer ring around everything', { type: 'Polygon', coordinates: [box(-9, -9, 9, 9)] }, holed],
  ]
  const no: [string, Geometry, Geometry][] = [
    ['a point in a hole', holed, point(2, 2)],
    ['an area within a hole', holed, { type: 'Polygon', coordinates: [box(1.5, 1.5, 2.5, 2.5)] }],
    ['the next double beyond a border', square, point(4 + 2 ** -50, 2)],
    ['an empty geometry', square, { type: 'MultiPoint', coordinates: [] }],
    ['an empty collection', { type: 'GeometryCollection', geometries: [] }, point(0, 0)],
  ]
  for (const [name, a, b] of yes) t.ok(intersects(a, b) && intersects(b, a), name)
  for (const [name, a, b] of no) t.notOk(intersects(a, b) || intersects(b, a), name)
})

t.test('intersects: exact where differences of doubles are not', async (t) => {
  // the points of the line y = x in steps of one unit in the last place, beside 12 and 24 (Kettner et al.
  // 2008)
  const diagonal = line([12, 12], [24, 24])
  for (let i = 0; i < 32; i++) {
    for (let j = 0; j < 32; j++) {
      const x = 12.5 + i * 2 ** -49
      const y = 12.5 + j * 2 ** -49
      if (intersects(diagonal, point(x, y)) !== (i === j)) t.fail(`${i} ${j}`)
    }
  }
  t.pass()
})

t.test('within: borders and holes', async (t) => {
  const inner: Geometry = { type: 'Polygon', coordinates: [box(1, 1, 3, 3)] }
  const yes: [string, Geometry, Geometry][] = [
    ['an area in itself', square, square],
    ['an area that shares a border', { type: 'Polygon', coordinates: [box(0, 0, 2, 4)] }, square],
    ['a ring in the area that it bounds', holed, square],
    ['a line that runs along the border, then inside', line([0, 0], [4, 0], [2, 2]), square],
    ['a part of a line', line([1, 1], [2, 2]), line([0, 0], [3, 3])],
    [
      'an area in two areas that meet',
      square,
      { type: 'MultiPolygon', coordinates: [[box(0, 0, 2, 4)], [box(2, 0, 4, 4)]] },
    ],
    [
      'points of which one is inside',
      {
        type: 'MultiPoint',
        coordinates: [
          [0, 0],
          [2, 2],
        ],
      },
      square,
    ],
  ]
  const no: [string, Geometry, Geometry][] = [
    ['a point on the border', point(0, 2), square],
    ['a line along the border', line([0, 0], [4, 0]), square],
    ['an area that exactly fills a hole', inner, holed],
    ['an area with a hole of the other inside', square, holed],
    ['the end of a line', point(0, 0), line([0, 0], [3, 3])],
    [
      'an area in two areas with a gap',
      square,
      { type: 'MultiPolygon', coordinates: [[box(0, 0, 2, 4)], [box(2.5, 0, 4, 4)]] },
    ],
    ['an empty geometry', { type: 'Polygon', coordinates: [] }, square],
  ]
  for (const [name, a, b] of yes) t.ok(within(a, b), name)
  for (const [name, a, b] of no) t.notOk(within(a, b), name)
})

/** A ring around (20, 20) with many teeth. */
function star(n: number, phase: number): Position[] {
  const ring: Position[] = []
  for (let i = 0; i < n; i++) {
    const radius = i % 2 === 0 ? 18.77 : 7.13 // no place of the lattice is on the ring
    const angle = phase + (i / n) * 2 * Math.PI
    ring.push([20 + radius * Math.cos(angle), 20 + radius * Math.sin(angle)])
  }
  return [...ring, ring[0] as Position]
}

function isInRing(ring: Position[], x: number, y: number): boolean {
  let isIn = false
  for (let i = 1; i < ring.length; i++) {
    const [[ax, ay], [bx, by]] = [ring[i - 1] as Position, ring[i] as Position]
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) isIn = !isIn
  }
  return isIn
}

function map(geometry: Geometry, change: (value: number) => number): Geometry {
  return JSON.parse(JSON.stringify(geometry), (_, value) =>
    typeof value === 'number' ? change(value) : value,
  )
}
