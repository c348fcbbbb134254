import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Area, isRing } from '../../src/geo/ring.js'
import type { Geometry, Position } from '../../src/geo/types.js'
import { areaOf, type CellSet, createRing } from '../../src/risk/cell-set.js'
import { diffCells } from '../../src/risk/diff-cells.js'
import { anyCell, type Cell, cellsOf, place } from '../support/cells.js'

const SIDE = 12

const cell = anyCell(SIDE)
const cells = fc.array(cell, { maxLength: 60 })

t.test('property: diffCells lists exactly the added and the removed cells, in any order', async () => {
  fc.assert(
    fc.property(cells, cells, cells, (same, gone, come) => {
      const shuffled = [...come, ...same.toReversed()]
      const changed = diffCells(cellsOf([...same, ...gone]), cellsOf(shuffled), Infinity)
      const expected = leftOver(gone, come)
      deepStrictEqual(namesOf(changed as CellSet), namesOf(cellsOf(expected)))
    }),
    { numRuns: 200 },
  )
})

t.test('diffCells: a cell differs when a corner, a hole, a part or the form of its shape does', async (t) => {
  const ring = (count: number, move = 0): Position[] => {
    const corners = Array.from({ length: count }, (_, i): Position => {
      const angle = (i / count) * 2 * Math.PI
      return place(Math.cos(angle) * 50 + (i === 1 ? move : 0), Math.sin(angle) * 50)
    })
    return [...corners, corners[0]!]
  }
  const hole = (x: number): Position[] => [place(x, 0), place(x + 3, 1), place(x, 4), place(x, 0)]
  const small = ring(8)
  const large = ring(40)
  const shapes: Geometry[] = [
    { type: 'Polygon', coordinates: [small] },
    { type: 'Polygon', coordinates: [ring(8, 0.01)] },
    { type: 'Polygon', coordinates: [small.toReversed()] },
    { type: 'Polygon', coordinates: [large] },
    { type: 'Polygon', coordinates: [ring(40, 0.01)] },
    { type: 'Polygon', coordinates: [large, hole(1)] },
    { type: 'Polygon', coordinates: [large, hole(2)] },
    { type: 'Polygon', coordinates: [large, hole(1), hole(9)] },
    { type: 'MultiPolygon', coordinates: [[large], [hole(1)]] },
    { type: 'MultiPolygon', coordinates: [[small], [hole(1)]] },
  ]
  for (const [i, one] of shapes.entries()) {
    for (const [j, other] of shapes.entries()) {
      const changed = diffCells(
        cellsOf([{ geometry: one, level: 2 }]),
        cellsOf([{ geometry: other, level: 2 }]),
        9,
      )
      t.equal(changed?.count, i === j ? 0 : 2, `${i} and ${j}`)
    }
  }
  const first = { geometry: shapes[0]!, level: 2 }
  t.equal(diffCells(cellsOf([first]), cellsOf([{ ...first, level: 3 }]), 9)?.count, 2)
})

t.test('diffCells: the limit counts added and removed cells, and also where the counts differ', async (t) => {
  const squareAt = (x: number): Cell => ({
    geometry: { type: 'Polygon', coordinates: [[place(x, 0), place(x + 1, 0), place(x + 1, 1), place(x, 1), place(x, 0)]] }, // biome-ignore format: ring
    level: 2,
  })
  const cellsAt = (...places: number[]) => cellsOf(places.map(squareAt))
  const count = (before: CellSet, after: CellSet, most: number) => diffCells(before, after, most)?.count
  t.equal(count(cellsAt(1, 2), cellsAt(1, 2), 0), 0)
  t.equal(count(cellsAt(1, 2), cellsAt(2, 1), 0), 0, 'in another order')
  t.equal(count(cellsAt(1), cellsAt(1, 2, 3), 2), 2)
  t.equal(count(cellsAt(1), cellsAt(1, 2, 3), 1), undefined)
  t.equal(count(cellsAt(1, 2, 3), cellsAt(1), 2), 2)
  t.equal(count(cellsAt(1, 2, 3), cellsAt(1), 1), undefined)
  t.equal(count(cellsAt(1, 2), cellsAt(3, 4), 4), 4)
  t.equal(count(cellsAt(1, 2), cellsAt(3, 4), 3), undefined)
  t.equal(count(cellsAt(1, 1, 1), cellsAt(1), 2), 2, 'equal cells are counted')
  t.equal(count(cellsAt(5, 1, 1, 1), cellsAt(1, 1, 1), 1), 1)
  t.equal(count(cellsAt(), cellsAt(1), 1), 1)
  t.equal(count(cellsAt(1), cellsAt(), 1), 1)
})

t.test('diffCells: undefined when more cells changed than the limit', async (t) => {
  const far = (x: number): Cell => ({
    geometry: { type: 'Polygon', coordinates: [[place(x, 0), place(x + 1, 0), place(x, 1), place(x, 0)]] },
    level: 2,
  })
  const [before, after] = [cellsOf([far(0), far(1)]), cellsOf([far(0), far(2)])]
  t.equal(diffCells(before, after, 1), undefined)
  t.equal(diffCells(before, after, 2)?.count, 2)
})

/** What is in one list only, as often as it is there more. */
function leftOver(gone: Cell[], come: Cell[]): Cell[] {
  const rest = [...come]
  const went = gone.filter((cell) => {
    const twin = rest.findIndex((other) => JSON.stringify(other) === JSON.stringify(cell))
    if (twin >= 0) rest.splice(twin, 1)
    return twin < 0
  })
  return [...went, ...rest]
}

function namesOf(cells: CellSet): string[] {
  return Array.from({ length: cells.count }, (_, cell) =>
    JSON.stringify([
      cells.level[cell],
      Array.from(cells.box.subarray(cell * 4, cell * 4 + 4)),
      positionsOf(areaOf(cells, cell, createRing())),
    ]),
  ).sort()
}

function positionsOf(area: Area | undefined): number[] {
  if (area === undefined) return []
  return Array.from(isRing(area) ? area.xy.subarray(area.first * 2, area.last * 2 + 2) : area.xy)
}
