import t from 'tap'
import { isRing } from '../../src/geo/ring.js'
import type { Geometry, Position } from '../../src/geo/types.js'
import { encodeWkb } from '../../src/geo/wkb.js'
import {
  addCell,
  addCellWkb,
  areaOf,
  type CellSet,
  createCellSet,
  createRing,
  FORM,
  toE7,
} from '../../src/risk/cell-set.js'

const polygon = (...ring: Position[]): Geometry => ({ type: 'Polygon', coordinates: [ring] })
const square = (size = 1): Geometry => polygon([0, 0], [size, 0], [size, size], [0, size], [0, 0])

/** A closed ring of a number of positions around the origin, none of its sides along an axis. */
function ringOf(positions: number): Geometry {
  const corners = Array.from({ length: positions - 1 }, (_, i): Position => {
    const angle = ((i + 0.3) / (positions - 1)) * 2 * Math.PI
    return [Math.cos(angle), Math.sin(angle)]
  })
  return polygon(...corners, corners[0]!)
}

const KINDS = { [FORM.RECTANGLE]: 'rectangle', [FORM.RING]: 'ring', [FORM.SHAPE]: 'shape' } as Record<
  number,
  string
>

const boxesOf = ({ box, count }: CellSet) => Array.from(box.subarray(0, count * 4))
const levelsOf = ({ level, count }: CellSet) => Array.from(level.subarray(0, count))

/** Adds one cell to an empty set, as a geometry and as WKB: both must be kept in the same way. */
function kindOf(geometry: Geometry): string {
  const kinds = [
    (cells: CellSet) => addCell(cells, geometry, 3),
    (cells: CellSet) => addCellWkb(cells, encodeWkb(geometry), 3),
  ].map((add) => {
    const cells = createCellSet()
    const isKept = add(cells)
    const kind = cells.count === 0 ? 'none' : KINDS[cells.form[0]!]
    return `${isKept} ${kind} ${boxesOf(cells)} ${levelsOf(cells)} ${cells.xy.subarray(0, cells.positionCount * 2)}`
  })
  if (kinds[0] !== kinds[1]) throw new Error(`geometry: ${kinds[0]}; WKB: ${kinds[1]}`)
  return kinds[0]!.split(' ').slice(0, 2).join(' ')
}

t.test('addCell: rectangles along the axes, in both directions and from any corner', async (t) => {
  const corners: Position[] = [
    [1, 2],
    [3, 2],
    [3, 5],
    [1, 5],
  ]
  for (let first = 0; first < 4; first++) {
    for (const isReversed of [false, true]) {
      const turned = [...corners.slice(first), ...corners.slice(0, first)]
      const ring = isReversed ? turned.toReversed() : turned
      const cells = createCellSet()
      t.equal(addCell(cells, polygon(...ring, ring[0]!), 3), true)
      t.same([boxesOf(cells), levelsOf(cells)], [[1e7, 2e7, 3e7, 5e7], [3]])
      t.equal(areaOf(cells, 0, createRing()), undefined)
      t.equal(kindOf(polygon(...ring, ring[0]!)), 'true rectangle')
    }
  }
})

t.test('addCell: five positions that are no rectangle along the axes', async (t) => {
  t.equal(kindOf(polygon([0, 0], [2, 0], [2, 1], [0, 2], [0, 0])), 'true ring')
  t.equal(kindOf(polygon([0, 0], [2, 0], [3, 1], [0, 1], [0, 0])), 'true ring')
  t.equal(kindOf(polygon([0, 0], [2, 1], [1, 3], [-1, 2], [0, 0])), 'true ring', 'turned')
  t.equal(kindOf(polygon([0, 0], [0, 2], [1, 2], [2, 0], [0, 0])), 'true ring')
})

t.test('addCell: a rectangle without area covers nothing and is not kept as another form', async (t) => {
  for (const geometry of [
    polygon([0, 0], [0, 0], [0, 1], [0, 1], [0, 0]),
    polygon([0, 0], [1, 0], [1, 0], [0, 0], [0, 0]),
  ])
    t.equal(kindOf(geometry), 'true none')
})

t.test('addCell: rings of up to 17 positions, shapes beyond and with holes', async (t) => {
  t.equal(kindOf(polygon([0, 0], [1, 0], [0, 1], [0, 0])), 'true ring')
  t.equal(kindOf(ringOf(17)), 'true ring')
  t.equal(kindOf(ringOf(18)), 'true shape')
  const hole: Position[] = [[0.2, 0.2], [0.4, 0.2], [0.4, 0.4], [0.2, 0.2]] // biome-ignore format: ring
  t.equal(kindOf({ type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], hole] }), 'true shape') // biome-ignore format: rings
  t.equal(kindOf({ type: 'MultiPolygon', coordinates: [[[[0, 0], [1, 0], [0, 1], [0, 0]]]] }), 'true shape') // biome-ignore format: rings
})

t.test('addCell: the box of a ring; coordinates rounded to 1e-11 degree', async (t) => {
  const cells = createCellSet()
  addCell(cells, polygon([1, 7], [-3, 2], [4, -5], [1, 7]), 9)
  t.same(boxesOf(cells), [-3e7, -5e7, 4e7, 7e7])
  addCell(cells, polygon([41.15, -8.6], [41.16, -8.6], [41.16, -8.5], [41.15, -8.5], [41.15, -8.6]), 1)
  t.same(boxesOf(cells).slice(4), [411_500_000, -86_000_000, 411_600_000, -85_000_000])
})

t.test('property: cells of all forms keep their areas, however many are added', async (t) => {
  const rings = Array.from({ length: 17 }, (_, positions) => ringOf(positions + 4))
  const cells = createCellSet()
  for (let round = 0; round < 10; round++) {
    for (const geometry of [...rings, square(round + 1)]) addCell(cells, geometry, 1 + (round % 10))
  }
  t.equal(cells.count, 180)
  for (let cell = 0; cell < cells.count; cell++) {
    const area = areaOf(cells, cell, createRing())
    const positions = (cell % 18) + 4
    if (positions === 21) {
      t.equal(area, undefined)
      t.same(boxesOf(cells).slice(cell * 4, cell * 4 + 4), [
        0,
        0,
        ...Array(2).fill(((cell / 18) | 0) * 1e7 + 1e7),
      ])
      continue
    }
    const found =
      area === undefined ? [] : isRing(area) ? area.xy.slice(area.first * 2, area.last * 2 + 2) : area.xy
    const [ring] = (rings[positions - 4] as { coordinates: Position[][] }).coordinates
    t.equal(area !== undefined && isRing(area), positions <= 17)
    t.same(Array.from(found), ring!.flat().map(toE7))
  }
})

t.test('addCell: level 0 is not kept; levels are rounded and clamped, each change counted', async (t) => {
  const rows: [level: number, kept: number[], clamped: number][] = [
    [0, [], 0],
    [-4, [], 1],
    [0.4, [], 1],
    [0.5, [1], 1],
    [1, [1], 0],
    [10, [10], 0],
    [10.4, [10], 1],
    [11, [10], 1],
  ]
  for (const [level, kept, clamped] of rows) {
    const byGeometry = createCellSet()
    const byWkb = createCellSet()
    t.equal(addCell(byGeometry, square(), level), kept.length > 0, `level ${level}`)
    t.equal(addCellWkb(byWkb, encodeWkb(square()), level), kept.length > 0, `level ${level} in WKB`)
    for (const cells of [byGeometry, byWkb])
      t.same([levelsOf(cells), cells.clampedCount, cells.unreadableCount], [kept, clamped, 0])
  }
})

t.test('addCell: points and lines have no area, open rings are no rings', async (t) => {
  t.equal(kindOf({ type: 'Point', coordinates: [1, 2] }), 'false none')
  t.equal(kindOf({ type: 'LineString', coordinates: [[0, 0], [1, 1]] }), 'false none') // biome-ignore format: line
  t.equal(kindOf({ type: 'Polygon', coordinates: [] }), 'false none')
})

t.test('addCellWkb: any other bytes are decoded, or counted as unreadable', async (t) => {
  const plain = encodeWkb(square())
  const refused = (wkb: Uint8Array, title: string) => {
    const cells = createCellSet()
    t.equal(addCellWkb(cells, wkb, 2), false, title)
    t.same([levelsOf(cells), cells.unreadableCount], [[], 1], title)
  }
  refused(new Uint8Array(0), 'empty')
  refused(plain.slice(0, -1), 'cut short')
  refused(Uint8Array.from([...plain, 0]), 'one byte too many')
  refused(plain.with(1, 99), 'an unknown type')
  refused(plain.with(5, 2), 'fewer rings than it says')
  refused(plain.with(9, 6), 'fewer positions than it says')
  refused(plain.with(0, 0), 'another byte order than it says')
  // the same square, big endian: decoded in full, so that it is a shape
  const view = new DataView(plain.slice().buffer)
  const big = new DataView(new ArrayBuffer(plain.length))
  for (const at of [1, 5, 9]) big.setUint32(at, view.getUint32(at, true))
  for (let at = 13; at < plain.length; at += 8) big.setFloat64(at, view.getFloat64(at, true))
  const cells = createCellSet()
  t.equal(addCellWkb(cells, new Uint8Array(big.buffer), 2), true)
  t.same([boxesOf(cells), cells.unreadableCount], [[0, 0, 1e7, 1e7], 0])
  // a view into other bytes
  const inside = new Uint8Array([7, 7, 7, ...plain, 7]).subarray(3, 3 + plain.length)
  const viewed = createCellSet()
  t.equal(addCellWkb(viewed, inside, 2), true)
  t.same([boxesOf(viewed), areaOf(viewed, 0, createRing())], [[0, 0, 1e7, 1e7], undefined])
})
