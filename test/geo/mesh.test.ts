import { deepStrictEqual, equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { boxPolygon } from '../../src/geo/bbox.js'
import { intersects } from '../../src/geo/intersects.js'
import {
  columnOf,
  type MeshDegree,
  meshBox,
  meshCount,
  meshRange,
  meshRing,
  rowOf,
} from '../../src/geo/mesh.js'
import { overlapsBox, overlapsCell, visitOverlappedCells } from '../../src/geo/mesh-cover.js'
import { shapeOf } from '../../src/geo/shape.js'
import { splitByDimension } from '../../src/geo/split.js'
import type { Bbox, Geometry, Position } from '../../src/geo/types.js'
import { anyGeometry } from '../support/geometries.js'

const degree = fc.constantFrom<MeshDegree>(1, 2, 3, 4, 5)
/** degree → cells along a degree of longitude, cells along two degrees of latitude */
const CELLS: Record<MeshDegree, [number, number]> = {
  1: [1, 3],
  2: [8, 24],
  3: [80, 240],
  4: [160, 480],
  5: [320, 960],
}

t.test('mesh: sizes are those of the standard grid and 100° E is a line of each', async (t) => {
  const sizes = ([1, 2, 3, 4, 5] as const).map((level) => {
    const [west, south, east, north] = meshBox(level, columnOf(level, 100), 0)
    t.equal(west, 100)
    t.equal(south, 0)
    return [north, Number((east - 100).toFixed(12))]
  })
  t.same(sizes, [
    [0.666666666667, 1],
    [0.083333333333, 0.125],
    [0.008333333333, 0.0125],
    [0.004166666667, 0.00625],
    [0.002083333333, 0.003125],
  ])
})

t.test(
  'property: mesh: a place is in the cell of its indices, neighbours share their lines, 12 decimals at most',
  async () => {
    const lng = fc.double({ min: -180, max: 180, noNaN: true })
    const lat = fc.double({ min: -90, max: 90, noNaN: true })
    const property = fc.property(degree, lng, lat, (level, x, y) => {
      const [column, row] = [columnOf(level, x), rowOf(level, y)]
      const [west, south, east, north] = meshBox(level, column, row)
      ok(west <= x && x < east && south <= y && y < north)
      equal(meshBox(level, column + 1, row)[0], east)
      equal(meshBox(level, column, row + 1)[1], north)
      const [perLng, perTwoLat] = CELLS[level]
      equal(west, Number((column / perLng).toFixed(12)))
      equal(south, Number(((2 * row) / perTwoLat).toFixed(12)))
      for (const number of meshRing(level, column, row).flat())
        ok(String(number).replace(/^-?\d+\.?/, '').length <= 12)
      equal(columnOf(level, west), column)
      equal(rowOf(level, north), row + 1)
    })
    fc.assert(property, { numRuns: 500 })
  },
)

t.test('mesh: every line of every grid belongs to the cell east or north of it', async (t) => {
  const degrees: readonly MeshDegree[] = [1, 2, 3, 4, 5]
  let wrong = 0
  for (const level of degrees) {
    const { west, south, east, north } = meshRange(level, [-180, -90, 180, 90])
    for (let column = west; column <= east; column++) {
      const [lng] = meshBox(level, column, 0)
      if (columnOf(level, lng) !== column) wrong++
    }
    for (let row = south; row <= north; row++) {
      const [, lat] = meshBox(level, 0, row)
      if (rowOf(level, lat) !== row) wrong++
    }
  }
  t.equal(wrong, 0)
})

t.test('mesh: ring order is SW, SE, NE, NW, SW', async (t) => {
  t.same(meshRing(1, 139, 53), [
    [139, 35.333333333333],
    [140, 35.333333333333],
    [140, 36],
    [139, 36],
    [139, 35.333333333333],
  ])
})

t.test('mesh: the range of the whole Earth ends at its edges', async (t) => {
  const range = meshRange(2, [-180, -90, 180, 90])
  t.same(meshBox(2, range.west, range.south).slice(0, 2), [-180, -90])
  t.same(meshBox(2, range.east, range.north).slice(2), [180, 90])
  t.equal(meshCount(range), 360 * 8 * 180 * 12)
})

/** Positions on a lattice of quarter cells of degree 3 around 139° E, 35.5° N, borders included. */
const position = fc.tuple(fc.nat({ max: 24 }), fc.nat({ max: 24 })).map(([i, j]): Position => {
  const [west, south] = meshBox(3, 139 * 80 + Math.floor(i / 4), 35.5 * 120 + Math.floor(j / 4))
  return [west + (i % 4) / 320, south + (j % 4) / 480]
})

t.test(
  'property: mesh cover: quadtree and single tests agree, for areas and for points and lines',
  async () => {
    const property = fc.property(anyGeometry(position), (geometry) => {
      const { areas, flat } = splitByDimension(geometry)
      const shape = shapeOf(areas)
      const range = meshRange(3, [138.95, 35.45, 139.12, 35.58])
      const overlapped: string[] = []
      const touched: string[] = []
      visitOverlappedCells(shape, range, (column, row) => overlapped.push(`${column} ${row}`))
      const everywhere = shapeOf(boxPolygon([138.9, 35.4, 139.2, 35.6]))
      const filter = { areas: shapeOf({ type: 'GeometryCollection', geometries: [] }), flat: shapeOf(flat) }
      visitOverlappedCells(everywhere, range, (column, row) => touched.push(`${column} ${row}`), { filter })
      const expected: [string[], string[]] = [[], []]
      for (let row = range.south; row <= range.north; row++) {
        for (let column = range.west; column <= range.east; column++) {
          const box = meshBox(3, column, row)
          if (overlapsCell(shape, box)) expected[0].push(`${column} ${row}`)
          if (intersects(flat, boxPolygon(box))) expected[1].push(`${column} ${row}`)
        }
      }
      deepStrictEqual([overlapped.sort(), touched.sort()], [expected[0].sort(), expected[1].sort()])
    })
    fc.assert(property, { numRuns: 150 })
  },
)

t.test(
  'visitOverlappedCells: a cell written with 6 to 12 decimals is itself alone, in every degree',
  async (t) => {
    for (const degree of [1, 2, 3, 4, 5] as const) {
      for (const [lng, lat] of [
        [139.7, 35.6],
        [-73.9, 40.7],
        [12.34, -33.3],
      ] as const) {
        const [column, row] = [columnOf(degree, lng), rowOf(degree, lat)]
        const box = meshBox(degree, column, row)
        for (let decimals = 6; decimals <= 12; decimals++) {
          const written = box.map((value) => Number(value.toFixed(decimals))) as Bbox
          const shape = shapeOf(boxPolygon(written))
          const found: string[] = []
          const around = { degree, west: column - 2, south: row - 2, east: column + 2, north: row + 2 }
          visitOverlappedCells(shape, around, (x, y) => found.push(`${x} ${y}`))
          t.same(found, [`${column} ${row}`], `degree ${degree}, ${decimals} decimals`)
        }
      }
    }
  },
)

t.test('overlapsCell: what is more than a border counts, and a thin area is in some cell', async (t) => {
  const cell: Bbox = [139, 35, 139.0125, 35.008333333333]
  const side = cell[2] - cell[0]
  const table: [string, Bbox, boolean][] = [
    ['a strip along the border', [138.9, 34.9, cell[0] + side * 1e-6, 35.1], false],
    ['a wider strip', [138.9, 34.9, cell[0] + 1e-6, 35.1], true],
    ['a corner', [138.9, 34.9, cell[0] + 4e-7, cell[1] + 4e-7], false],
    ['a small area in the middle', [139.005, 35.004, 139.005001, 35.004001], true],
    ['a thin area on the border', [cell[0] - 1e-7, 35.001, cell[0] + 1e-7, 35.002], true],
  ]
  for (const [name, box, expected] of table)
    t.equal(overlapsCell(shapeOf(boxPolygon(box)), cell), expected, name)
})

t.test('property: overlapsBox of two rectangles is interval arithmetic', async () => {
  const side = fc
    .tuple(fc.nat({ max: 6 }), fc.nat({ max: 6 }))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
  const property = fc.property(side, side, side, side, ([w, e], [s, n], [w2, e2], [s2, n2]) => {
    fc.pre(w < e && s < n && w2 < e2 && s2 < n2)
    const expected = Math.max(w, w2) < Math.min(e, e2) && Math.max(s, s2) < Math.min(n, n2)
    equal(overlapsBox(shapeOf(boxPolygon([w, s, e, n])), [w2, s2, e2, n2]), expected)
  })
  fc.assert(property, { numRuns: 300 })
})

t.test('overlapsBox: holes, borders and corners', async (t) => {
  const ring = ([w, s, e, n]: Bbox): Position[] => [
    [w, s],
    [e, s],
    [e, n],
    [w, n],
    [w, s],
  ]
  const holed: Geometry = { type: 'Polygon', coordinates: [ring([0, 0, 9, 9]), ring([3, 3, 6, 6])] }
  const diamond: Geometry = {
    type: 'Polygon',
    coordinates: [
      [
        [5, 0],
        [10, 5],
        [5, 10],
        [0, 5],
        [5, 0],
      ],
    ],
  }
  const table: [string, Geometry, Bbox, boolean][] = [
    ['in the hole', holed, [4, 4, 5, 5], false],
    ['filling the hole', holed, [3, 3, 6, 6], false],
    ['a little more than the hole', holed, [3, 3, 6, 6.001], true],
    ['around everything', holed, [-1, -1, 10, 10], true],
    ['beside', holed, [9, 0, 12, 9], false],
    ['at a corner of the diamond', diamond, [7.5, 7.5, 9, 9], false],
    ['across the slope of the diamond', diamond, [7.4, 7.4, 9, 9], true],
    ['without width', holed, [1, 1, 1, 2], false],
  ]
  for (const [name, geometry, box, expected] of table)
    t.equal(overlapsBox(shapeOf(geometry), box), expected, name)
})
