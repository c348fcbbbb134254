import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createCellSieve, siftCells } from '../../src/risk/cell-sieve.js'

type Box = readonly [number, number, number, number]

/** Boxes of sizes from a point to a country, anywhere on Earth. */
function boxes(toNumber: (value: number) => number) {
  return fc
    .record({
      x: fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }),
      y: fc.integer({ min: -900_000_000, max: 900_000_000 }),
      isNear: fc.boolean(),
      size: fc.integer({ min: 0, max: 27 }),
      flat: fc.integer({ min: 1, max: 8 }),
    })
    .map(({ x, y, isNear, size, flat }): Box => {
      const [west, south] = isNear ? [x / 1000, y / 1000] : [x, y]
      const [east, north] = [west + 2 ** size, south + 2 ** size / flat]
      return [toNumber(west), toNumber(south), toNumber(east), toNumber(north)]
    })
}

const cells = fc.array(
  boxes((value) => Math.round(value * 1e4) / 1e4),
  { maxLength: 60 },
)
/** Boxes of roads and branches are whole. */
const asked = boxes(Math.round)

const meet = (a: Box, b: Box) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]

t.test('property: siftCells lists each cell of a list whose box meets a box, list after list', async () => {
  fc.assert(
    fc.property(cells, fc.array(asked, { minLength: 1, maxLength: 4 }), (list, branches) => {
      const listed = list.flatMap((_, cell) => (cell % 3 === 2 ? [] : [cell]))
      const sieve = createCellSieve(Float64Array.from(list.flat()), listed)
      const cellsFrom = (from: number, end: number) =>
        Array.from(sieve.stack.subarray(from, end), (place) => sieve.cells[place]!).sort((a, b) => a - b)
      let [from, end] = [0, listed.length]
      let expected = listed
      for (const one of branches) {
        const top = siftCells(sieve, from, end, Int32Array.from(one), 0)
        deepStrictEqual(cellsFrom(from, end), expected, 'the list above stays')
        expected = expected.filter((cell) => meet(list[cell]!, one))
        ;[from, end] = [end, top]
      }
      deepStrictEqual(cellsFrom(from, end), expected)
    }),
  )
})

t.test('siftCells: cells beyond what 32 bits hold are met at the edge', async () => {
  const sieve = createCellSieve(Float64Array.of(-9e9, -9e9, 9e9, 9e9), [0])
  const edge = Int32Array.of(0, 0, 0, 0, 1_799_999_999, 899_999_999, 1_800_000_000, 900_000_000)
  ok(siftCells(sieve, 0, 1, edge, 4) === 2)
})

t.test('siftCells: the stack grows when lists of many cells follow each other', async () => {
  // 600 cells that meet every box: lists of 600, one after another, in a stack of 1200
  const boxes = Array.from({ length: 600 }, (_, cell) => [cell, 0, cell + 1000, 10]).flat()
  const listed = Array.from({ length: 600 }, (_, cell) => cell)
  const sieve = createCellSieve(Float64Array.from(boxes), listed)
  ok(sieve.stack.length === 1200)
  const all = Int32Array.of(0, 0, 2000, 10)
  let [from, end] = [0, 600]
  for (let depth = 1; depth <= 8; depth++) {
    const top = siftCells(sieve, from, end, all, 0)
    deepStrictEqual([end, top], [depth * 600, (depth + 1) * 600])
    ;[from, end] = [end, top]
    for (let list = 0; list <= depth; list++) {
      const cells = Array.from(
        sieve.stack.subarray(list * 600, list * 600 + 600),
        (place) => sieve.cells[place]!,
      )
      deepStrictEqual(
        cells.sort((a, b) => a - b),
        listed,
      )
    }
  }
})

t.test('createCellSieve: places follow a space-filling curve from the south-west', async () => {
  // corners of a square of 255 steps, and one step beside the first: Morton order x before y
  const corners = [[255, 255], [0, 255], [1, 0], [255, 0], [0, 1], [0, 0]] // biome-ignore format: pairs
  const sieve = createCellSieve(
    Float64Array.from(corners.flatMap(([x, y]) => [x! * 100 + 7, y! * 100 - 9, x! * 100 + 8, y! * 100])),
    [0, 1, 2, 3, 4, 5],
  )
  deepStrictEqual([...sieve.cells], [5, 2, 4, 3, 1, 0])
  deepStrictEqual([...sieve.box.subarray(0, 4)], [7, -9, 8, 0])
})
