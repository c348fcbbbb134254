import fc from 'fast-check'
import t from 'tap'
import type { Geometry } from '../../src/geo/types.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { createLayer } from '../../src/risk/layer.js'
import { createByteCache } from '../../src/route-engine/byte-cache.js'
import { makeGraph } from '../support/make-graph.js'

const SIDE = 8
const at = (x: number, y: number): [number, number] => [
  Math.round(86_000_000 + x * 1000) / 1e7,
  Math.round(411_000_000 + y * 1000) / 1e7,
]

/** A town of straight streets, half a square beside the borders of the mesh. */
const graph = makeGraph({
  junctions: Array.from({ length: SIDE * 2 }, (_, i) =>
    i < SIDE ? at(i + 0.5, 0) : at(i - SIDE + 0.5, SIDE),
  ),
  roads: Array.from({ length: SIDE }, (_, i) => ({
    from: i,
    to: SIDE + i,
    speed: [30, 30],
    lengthMm: 80_000,
  })),
})

const square = (index: number): Geometry => {
  const [x, y] = [index % SIDE, Math.floor(index / SIDE)]
  return {
    type: 'Polygon',
    coordinates: [[at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1), at(x, y)]],
  }
}

const state = (levels: readonly number[]) => {
  const cells = createCellSet()
  for (const [index, level] of levels.entries()) addCell(cells, square(index), level)
  return cells
}

t.test('property: a layer gives what a new overlay would be, whatever it has seen', async (t) => {
  const levels = fc.array(fc.constantFrom(0, 2, 5), { minLength: SIDE * SIDE, maxLength: SIDE * SIDE })
  const change = fc.record({ at: fc.nat({ max: SIDE * SIDE - 1 }), level: fc.nat({ max: 10 }) })
  const rounds = fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 6 })
  fc.assert(
    fc.property(levels, rounds, (first, list) => {
      const layer = createLayer(createByteCache(1e6))
      const now: number[] = [...first]
      t.same(layer.lay('a', graph, state(now)), buildOverlay(graph, state(now)))
      for (const changes of list) {
        for (const { at, level } of changes) now[at] = level
        t.same(layer.lay('a', graph, state(now)), buildOverlay(graph, state(now)))
      }
    }),
    { numRuns: 50 },
  )
})

t.test('lay: nothing changed gives the very same overlay, another map never', async (t) => {
  const layer = createLayer(createByteCache(1e6))
  const levels = new Array<number>(SIDE * SIDE).fill(3)
  const first = layer.lay('a', graph, state(levels))
  t.equal(layer.lay('a', graph, state(levels)), first)
  t.not(layer.lay('a', { ...graph }, state(levels)), first)
})

t.test('lay: what does not fit is laid anew each time', async (t) => {
  const layer = createLayer(createByteCache(10))
  const levels = new Array<number>(SIDE * SIDE).fill(3)
  const first = layer.lay('a', graph, state(levels))
  t.not(layer.lay('a', graph, state(levels)), first)
  t.same(layer.lay('a', graph, state(levels)), first)
})
