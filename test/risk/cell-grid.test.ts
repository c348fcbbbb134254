import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createCellGrid, findCells } from '../../src/risk/cell-grid.js'
import type { CellSet } from '../../src/risk/cell-set.js'
import { createRaster, mayHaveCells } from '../../src/risk/coverage-raster.js'

type Box = readonly [number, number, number, number]

/** Boxes of sizes from a point to a country, anywhere on Earth. */
const box = fc
  .record({
    x: fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }),
    y: fc.integer({ min: -900_000_000, max: 900_000_000 }),
    isNear: fc.boolean(),
    size: fc.integer({ min: 0, max: 27 }),
    flat: fc.integer({ min: 1, max: 8 }),
  })
  .map(({ x, y, isNear, size, flat }): Box => {
    const [west, south] = isNear ? [x / 1000, y / 1000] : [x, y]
    return [west, south, west + 2 ** size, south + 2 ** size / flat]
  })
const boxes = fc.array(box, { maxLength: 60 })

function cellsOf(list: Box[]): CellSet {
  return {
    box: list.flat(),
    level: list.map(() => 1),
    shape: list.map(() => null),
    clampedCount: 0,
    unreadableCount: 0,
  }
}

const meet = (a: Box, b: Box) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]

t.test('property: findCells tells each cell whose box meets the box, once', async () => {
  fc.assert(
    fc.property(boxes, fc.array(box, { minLength: 1, maxLength: 10 }), (list, asked) => {
      const cells = cellsOf(list)
      const grid = createCellGrid(cells)
      const found: number[] = []
      for (const one of asked) {
        const count = findCells(grid, cells, ...one, found)
        const expected = list.flatMap((cell, index) => (meet(cell, one) ? [index] : []))
        deepStrictEqual(
          found.slice(0, count).sort((a, b) => a - b),
          expected,
        )
      }
    }),
    { numRuns: 300 },
  )
})

t.test('property: the raster never denies a cell, and denies what lies far from all', async () => {
  fc.assert(
    fc.property(
      fc.array(box, { minLength: 1, maxLength: 40 }),
      fc.array(box, { maxLength: 20 }),
      (list, asked) => {
        const raster = createRaster(cellsOf(list))
        for (const one of [...asked, ...list]) {
          if (list.some((cell) => meet(cell, one))) ok(mayHaveCells(raster, ...one))
        }
        const east = Math.max(...list.map((cell) => cell[2]))
        ok(!mayHaveCells(raster, east + 1e9, 0, east + 2e9, 1))
      },
    ),
    { numRuns: 300 },
  )
})
