import t from 'tap'
import type { Extent, Position } from '../../src/geo/types.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { coverLine, createCovered, type MeasuredLine } from '../../src/risk/line-cover.js'
import { boxPolygon } from '../support/boxes.js'

/** A line of two corners, in arrays that are longer than it, as a caller that reuses them has. */
function segment(xy: readonly number[], end: number, extent: Extent): MeasuredLine {
  return { corners: 2, xy: Float64Array.of(...xy, 7, 7), offsets: Float64Array.of(0, end, 7), ...extent }
}

/** A line along y = 0.00001 degree from x = 0, one unit of offset for each 1e-7 degree. */
function straight(toE7: number): MeasuredLine {
  return segment([0, 100, toE7, 100], toE7, { west: 0, south: 100, east: toE7, north: 100 })
}

t.test('coverLine: many borders across one segment are sorted', async (t) => {
  // a comb with 40 teeth: 80 cuts of one segment, more than are sorted by insertion
  const ring: Position[] = [[0, -1e-5]]
  for (let tooth = 0; tooth < 40; tooth++) {
    const x = tooth * 1e-5
    ring.push([x, 2e-5], [x + 5e-6, 2e-5], [x + 5e-6, 0], [x + 1e-5, 0])
  }
  ring.push([40e-5, -1e-5], [0, -1e-5])
  const cells = createCellSet()
  addCell(cells, { type: 'Polygon', coordinates: [ring] }, 3)
  const covered = createCovered()
  coverLine(cells, 0, straight(4000), covered)
  const expected = Array.from({ length: 40 }, (_, tooth) => [tooth * 100, tooth * 100 + 50]).flat()
  t.equal(covered.size, 80)
  t.same(
    covered.ends.slice(0, covered.size).map((end) => Math.round(end * 1e3) / 1e3),
    expected,
  )
})

t.test('coverLine: a rectangle clips a line, and a touched one covers nothing', async (t) => {
  const cells = createCellSet()
  const box = (west: number, south: number, east: number, north: number) =>
    addCell(cells, boxPolygon(west, south, east, north), 1)
  box(1e-5, 0, 2e-5, 2e-5)
  box(0, 1e-5, 1e-4, 2e-5)
  box(0, 0, 1e-4, 1e-5)
  const covered = createCovered()
  const endsOf = (cell: number, line: MeasuredLine) => {
    coverLine(cells, cell, line, covered)
    return covered.ends.slice(0, covered.size)
  }
  t.same(endsOf(0, straight(1000)), [100, 200])
  t.same(endsOf(0, straight(100)), [], 'it ends at the western border')
  t.same(endsOf(1, straight(1000)), [0, 1000], 'along the southern border')
  t.same(endsOf(2, straight(1000)), [], 'along the northern border')
})

/** The rectangle from 100 to 200 along either axis, 1e-7 degree. */
function square(): ReturnType<typeof createCellSet> {
  const cells = createCellSet()
  const corners: Position[] = [
    [1e-5, 1e-5],
    [2e-5, 1e-5],
    [2e-5, 2e-5],
    [1e-5, 2e-5],
    [1e-5, 1e-5],
  ]
  addCell(cells, { type: 'Polygon', coordinates: [corners] }, 1)
  return cells
}

/** Stretches of a segment in the square, in hundredths of the segment. */
function inSquare(ax: number, ay: number, bx: number, by: number): number[] {
  const covered = createCovered()
  const west = Math.min(ax, bx)
  const south = Math.min(ay, by)
  const [east, north] = [Math.max(ax, bx), Math.max(ay, by)]
  coverLine(square(), 0, segment([ax, ay, bx, by], 100, { west, south, east, north }), covered)
  return covered.ends.slice(0, covered.size)
}

t.test(
  'coverLine: a segment along an axis is in a rectangle from its first border to below its last',
  async (t) => {
    for (const [at, expected] of [
      [99, []],
      [100, [0, 100]],
      [150, [0, 100]],
      [199, [0, 100]],
      [200, []],
      [201, []],
    ] as const) {
      t.same(inSquare(at, 120, at, 180), expected, `northwards at x ${at}`)
      t.same(inSquare(at, 180, at, 120), expected, `southwards at x ${at}`)
      t.same(inSquare(120, at, 180, at), expected, `eastwards at y ${at}`)
      t.same(inSquare(180, at, 120, at), expected, `westwards at y ${at}`)
    }
  },
)

t.test(
  'coverLine: a segment across one border of a rectangle is cut there, in either direction',
  async (t) => {
    for (const [x, y] of [
      [50, 150],
      [250, 150],
      [150, 50],
      [150, 250],
    ] as const) {
      t.same(inSquare(150, 150, x, y), [0, 50], `out to ${x}, ${y}`)
      t.same(inSquare(x, y, 150, 150), [50, 100], `in from ${x}, ${y}`)
    }
    t.same(inSquare(200, 150, 150, 150), [0, 100], 'in from the eastern border')
    t.same(inSquare(150, 200, 150, 150), [0, 100], 'in from the northern border')
    t.same(inSquare(100, 150, 50, 150), [], 'out from the western border')
    t.same(inSquare(150, 100, 150, 50), [], 'out from the southern border')
    t.same(inSquare(50, 120, 120, 50), [], 'past a corner')
  },
)
