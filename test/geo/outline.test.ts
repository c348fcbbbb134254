import fc from 'fast-check'
import t from 'tap'
import { type OutlinePolygon, outlinesOf } from '../../src/geo/outline.js'
import { addLine, createRaster, hasCell, type Raster } from '../../src/geo/raster.js'
import { faultsOf, isWithin, signedArea } from '../support/valid-polygons.js'

/** A drawing of `#` and `.`, the northernmost row first, with a row and column of empty cells around it. */
function drawn(rows: readonly string[]): Raster {
  const raster = createRaster((rows[0]?.length ?? 0) + 2, rows.length + 2)
  for (const [i, row] of rows.entries()) {
    for (const [x, cell] of [...row].entries()) {
      const y = rows.length - i
      if (cell === '#') addLine(raster, x + 1, y, x + 1, y)
    }
  }
  return raster
}

function outlines(raster: Raster, minHole = 0): OutlinePolygon[] {
  const task = outlinesOf(raster, minHole)
  for (;;) {
    const slice = task.next()
    if (slice.done === true) return slice.value
  }
}

/** Rings as lists of positions, closed. */
const closed = (polygons: readonly OutlinePolygon[]) =>
  polygons.map((polygon) =>
    polygon.map((ring) => {
      const positions: [number, number][] = []
      for (let i = 0; i <= ring.length; i += 2)
        positions.push([ring[i % ring.length] ?? 0, ring[(i + 1) % ring.length] ?? 0])
      return positions
    }),
  )

t.test('outlinesOf: one cell, none, and a ring of cells with its hole', async (t) => {
  t.same(outlines(drawn(['...'])), [])
  const [single = []] = closed(outlines(drawn(['#'])))
  t.equal(single.length, 1)
  t.ok(signedArea(single[0] ?? []) > 0, 'counterclockwise')
  const ring = closed(outlines(drawn(['####', '#..#', '####'])))
  t.equal(ring.length, 1)
  t.equal(ring[0]?.length, 2)
  t.ok(signedArea(ring[0]?.[1] ?? []) < 0, 'clockwise')
})

t.test('outlinesOf: straight and slanting sides have few corners', async (t) => {
  const block = outlines(drawn(Array.from({ length: 40 }, () => '#'.repeat(60))))
  t.ok((block[0]?.[0]?.length ?? 99) / 2 <= 8, `${(block[0]?.[0]?.length ?? 0) / 2} corners of a block`)
  const slope = outlines(drawn(Array.from({ length: 30 }, (_, i) => '#'.repeat(3 * i + 3).padEnd(90, '.'))))
  t.ok((slope[0]?.[0]?.length ?? 99) / 2 <= 8, `${(slope[0]?.[0]?.length ?? 0) / 2} corners of a triangle`)
})

t.test('outlinesOf: cells that touch at a corner belong together', async (t) => {
  const pair = closed(outlines(drawn(['#.', '.#'])))
  t.equal(pair.length, 1)
  t.same(faultsOf(pair), [])
  // the hole of the second one is open at a corner for cells outside, and closed for those inside
  const round = closed(outlines(drawn(['.#.', '#.#', '.#.'])))
  t.same([round.length, round[0]?.length], [1, 2])
  t.same(faultsOf(round), [])
})

t.test('outlinesOf: small holes are left out, with what is inside them', async (t) => {
  const rows = [
    '###############',
    '#......##..####',
    '#.###..##..####',
    '#.#.#..########',
    '#.###..########',
    '#......########',
    '###############',
  ]
  t.same(
    outlines(drawn(rows)).map((polygon) => polygon.length),
    [3, 2],
    'two holes, and one in the island',
  )
  t.same(
    outlines(drawn(rows), 10).map((polygon) => polygon.length),
    [2, 1],
  )
  t.same(
    outlines(drawn(rows), 100).map((polygon) => polygon.length),
    [1],
  )
})

t.test('outlinesOf: a long ring takes several slices', async (t) => {
  const raster = createRaster(4000, 202)
  for (let x = 2; x < 3990; x += 2) addLine(raster, x, 1, x, 200)
  addLine(raster, 2, 1, 3990, 1)
  const task = outlinesOf(raster, 0)
  let slices = 0
  while (task.next().done !== true) slices++
  t.ok(slices > 10, `${slices} slices`)
})

const drawings = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 9 }))
  .chain(([width, height]) =>
    fc.array(
      fc
        .array(fc.constantFrom('#', '#', '.'), { minLength: width, maxLength: width })
        .map((row) => row.join('')),
      { minLength: height, maxLength: height },
    ),
  )

t.test('property: a cell lies in one polygon or in none, as the set has it; polygons are valid', async () => {
  fc.assert(
    fc.property(drawings, (rows) => {
      const raster = drawn(rows)
      const polygons = closed(outlines(raster))
      const faults = faultsOf(polygons)
      if (faults.length > 0) throw new Error(faults.join(', '))
      expectCells(raster, polygons, (x, y) => hasCell(raster, x, y))
    }),
    { numRuns: 300 },
  )
})

t.test('property: small holes are filled, and nothing else changes', async () => {
  fc.assert(
    fc.property(drawings, fc.integer({ min: 1, max: 12 }), (rows, minHole) => {
      const raster = drawn(rows)
      const holes = closed(outlines(raster)).flatMap((polygon) => polygon.slice(1))
      const small = holes.filter((ring) => -signedArea(ring) < minHole)
      expectCells(
        raster,
        closed(outlines(raster, minHole)),
        (x, y) => hasCell(raster, x, y) || small.some((ring) => isWithin([ring], x, y)),
      )
    }),
    { numRuns: 300 },
  )
})

function expectCells(
  { width, height }: Raster,
  polygons: ReturnType<typeof closed>,
  isExpected: (x: number, y: number) => boolean,
): void {
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const holders = polygons.filter((polygon) => isWithin(polygon, x, y)).length
      if (holders !== (isExpected(x, y) ? 1 : 0)) throw new Error(`${x} ${y} is in ${holders} polygons`)
    }
  }
}
