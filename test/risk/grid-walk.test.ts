import t from 'tap'
import type { Position } from '../../src/geo/types.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { levelOfBox, MIXED, walkGrid } from '../../src/risk/grid-walk.js'
import { createRectGrid, placeIn, type RectGrid } from '../../src/risk/rect-grid.js'
import { createPieces } from '../../src/risk/stack-levels.js'
import type { FlatLine } from '../../src/routing/graph/flat-line.js'

/** A grid of rectangles [west, south, east, north, level] in 1e-7 degree. */
function gridOf(...rectangles: [number, number, number, number, number][]): RectGrid | undefined {
  const cells = createCellSet()
  for (const [w, s, e, n, level] of rectangles) {
    const [west, south, east, north] = [w / 1e7, s / 1e7, e / 1e7, n / 1e7]
    const ring: Position[] = [[west, south], [east, south], [east, north], [west, north], [west, south]] // biome-ignore format: ring
    addCell(cells, { type: 'Polygon', coordinates: [ring] }, level)
  }
  return createRectGrid(cells)
}

/** Two squares of 100 side by side, of levels 1 and 4, and one of level 2 above the first. */
const GRID = gridOf([0, 0, 100, 100, 1], [100, 0, 200, 100, 4], [0, 100, 100, 200, 2])!

t.test('createRectGrid: fields have the highest level of the rectangles over them', async (t) => {
  t.same([...GRID.x.at], [Number.NEGATIVE_INFINITY, 0, 100, 200, Number.POSITIVE_INFINITY])
  const rows = Array.from({ length: 4 }, (_, row) => [...GRID.level.subarray(row * 4, row * 4 + 4)])
  t.same(rows, [[0, 0, 0, 0], [0, 1, 4, 0], [0, 2, 0, 0], [0, 0, 0, 0]]) // biome-ignore format: rows
  const nested = gridOf([0, 0, 300, 300, 3], [100, 100, 200, 200, 2], [100, 0, 200, 100, 5])!
  t.equal(levelOfBox(nested, Int32Array.of(110, 110, 190, 190), 0), 3)
  t.equal(levelOfBox(nested, Int32Array.of(110, 10, 190, 90), 0), 5)
  t.equal(gridOf()!.level.length, 1)
})

t.test('placeIn: half-open, also where borders are far apart or close together', async (t) => {
  const { x } = gridOf([0, 0, 1, 1, 1], [3, 0, 1_000_000, 1, 1], [1_000_001, 0, 1_000_002, 1, 1])!
  t.same([...x.at.subarray(1, -1)], [0, 1, 3, 1_000_000, 1_000_001, 1_000_002])
  const rows = [[-1e9, 0], [-1, 0], [0, 1], [0.5, 1], [1, 2], [2, 2], [3, 3], [999_999.9, 3], [1_000_000, 4], [1_000_001.5, 5], [1_000_002, 6], [1e9, 6]] // biome-ignore format: pairs
  t.same(rows.map(([value]) => [value, placeIn(x, value!)]), rows) // biome-ignore format: short
})

t.test('createRectGrid: none when its table would be too large, or filling it too long', async (t) => {
  const scattered = Array.from({ length: 1100 }, (_, i): [number, number, number, number, number] => [
    i * 10,
    i * 10,
    i * 10 + 5,
    i * 10 + 5,
    1,
  ])
  t.equal(gridOf(...scattered), undefined, '2201² fields')
  t.ok(gridOf(...scattered.slice(0, 1000)), '2001² fields')
  // rectangles around each other: few borders, but each covers most fields
  const nested = Array.from({ length: 300 }, (_, i): [number, number, number, number, number] => [
    i,
    i,
    1000 - i,
    1000 - i,
    1,
  ])
  t.equal(gridOf(...nested), undefined)
  t.ok(gridOf(...nested.slice(0, 100)))
})

t.test('levelOfBox: one level in all fields that a box meets, borders included', async (t) => {
  const levelOf = (...box: [number, number, number, number]) =>
    levelOfBox(GRID, Int32Array.of(9, 9, 9, 9, ...box), 4)
  t.equal(levelOf(10, 10, 90, 90), 1)
  t.equal(levelOf(100, 10, 199, 90), 4)
  t.equal(levelOf(10, 10, 99, 99), 1)
  t.equal(levelOf(10, 10, 100, 90), MIXED, 'the eastern border belongs to the next field')
  t.equal(levelOf(10, 10, 90, 100), MIXED)
  t.equal(levelOf(-10, 10, 90, 90), MIXED)
  t.equal(levelOf(10, -10, 90, 90), MIXED)
  t.equal(levelOf(200, 0, 300, 300), 0)
  t.equal(levelOf(-300, -300, -1, 300), 0)
  t.equal(levelOf(10, 110, 90, 190), 2)
  t.not(MIXED, 1)
})

t.test('levelOfBox: a box over more than 4096 fields is mixed without a look at them', async (t) => {
  const row = (y: number) =>
    Array.from({ length: 64 }, (_, x): [number, number, number, number, number] => [x, y, x + 1, y + 1, 3])
  const grid = gridOf(...Array.from({ length: 65 }, (_, y) => row(y)).flat())!
  t.equal(levelOfBox(grid, Int32Array.of(0, 0, 63, 63), 0), 3, '64 · 64 fields')
  t.equal(levelOfBox(grid, Int32Array.of(0, 0, 63, 64), 0), MIXED, '64 · 65 fields')
})

t.test('walkGrid: pieces end where a line crosses into a field of another level', async (t) => {
  // a centimetre is 1e-7 degree here: offsets are given, so that nothing is measured by the earth
  const piecesOf = (...xy: number[]) => {
    const pieces = createPieces()
    const corners = xy.length / 2
    const line: FlatLine = { corners, xy: Float64Array.from(xy), offsetsMm: new Float64Array(corners) }
    walkGrid(GRID, line, 1000, pieces)
    return Array.from({ length: pieces.count }, (_, i) => [pieces.end[i], pieces.level[i]])
  }
  t.same(piecesOf(10, 50, 90, 50), [[1000, 1]])
  t.same(piecesOf(50, 50, 150, 50), [[500, 1], [1000, 4]]) // biome-ignore format: pieces
  t.same(piecesOf(150, 50, 50, 50), [[500, 4], [1000, 1]]) // biome-ignore format: pieces
  t.same(piecesOf(50, 150, 50, 50), [[500, 2], [1000, 1]]) // biome-ignore format: pieces
  t.same(piecesOf(50, 50, 50, 150), [[500, 1], [1000, 2]]) // biome-ignore format: pieces
  t.same(piecesOf(-100, 50, 300, 50), [[250, 0], [500, 1], [750, 4], [1000, 0]]) // biome-ignore format: pieces
  t.same(piecesOf(50, 50, 100, 50), [[1000, 1]], 'a line that ends at a border')
  t.same(piecesOf(100, 50, 50, 50), [[1000, 1]], 'a line that begins at one and turns back')
  t.same(piecesOf(50, 50, 100, 50, 60, 50), [[1000, 1]], 'a line that touches one')
})
