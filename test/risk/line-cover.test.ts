import t from 'tap'
import type { Position } from '../../src/geo/types.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { coverLine, createCovered, type MeasuredLine } from '../../src/risk/line-cover.js'

/** A line along y = 0.00001 degree from x = 0, one unit of offset for each 1e-7 degree. */
function straight(toE7: number): MeasuredLine {
  return { xy: [0, 100, toE7, 100], offsets: [0, toE7], west: 0, south: 100, east: toE7, north: 100 }
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
    addCell(
      cells,
      {
        type: 'Polygon',
        coordinates: [
          [
            [west, south],
            [east, south],
            [east, north],
            [west, north],
            [west, south],
          ],
        ],
      },
      1,
    )
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
