import fc from 'fast-check'
import t from 'tap'
import type { Geometry } from '../../src/geo/types.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { createLayer, type Laid } from '../../src/risk/layer.js'
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

t.test('property: a layer returns what a new overlay would be, after any changes', async (t) => {
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

t.test('lay: the same overlay object when nothing changed, another one for another map', async (t) => {
  const layer = createLayer(createByteCache(1e6))
  const levels = new Array<number>(SIDE * SIDE).fill(3)
  const first = layer.lay('a', graph, state(levels))
  t.equal(layer.lay('a', graph, state(levels)), first)
  t.not(layer.lay('a', { ...graph }, state(levels)), first)
})

/** A cache that holds everything and records the bytes of what is set. */
const openCache = () => {
  const kept = new Map<string, Laid>()
  const bytes: number[] = []
  return {
    kept,
    bytes,
    get: (key: string) => kept.get(key),
    set: (key: string, value: Laid, size: number) => {
      kept.set(key, value)
      bytes.push(size)
    },
  }
}

t.test('lay: few changed cells update the former overlay, many build it from scratch', async (t) => {
  const levels = new Array<number>(SIDE * SIDE).fill(3)
  const changedTo = (count: number) => levels.map((level, index) => (index < count ? 5 : level))
  const cache = openCache()
  const layer = createLayer(cache)
  layer.lay('a', graph, state(levels))
  // the former overlay is replaced by one without pieces: what an update keeps of it shows
  const laid = cache.kept.get('a')
  if (laid === undefined) throw new Error('nothing was kept')
  const blank = { ...laid, overlay: buildOverlay(graph, createCellSet()) }
  cache.kept.set('a', blank)
  const updated = layer.lay('a', graph, state(changedTo(1)))
  t.ok(updated.segments.length > 0 && updated.segments.length < SIDE, 'only roads near the change')
  cache.kept.set('a', blank)
  t.equal(layer.lay('a', graph, state(changedTo(20))).segments.length, SIDE, 'all roads')
})

t.test('lay: the cache learns the bytes of overlay and cells, by the form of each cell', async (t) => {
  const bytesOf = (geometry: Geometry) => {
    const cache = openCache()
    const cells = createCellSet()
    addCell(cells, geometry, 1)
    createLayer(cache).lay('a', graph, cells)
    return cache.bytes[0] ?? 0
  }
  // far from all roads, so that the overlay is the same for each
  const ring = (corners: number) => {
    const open = Array.from({ length: corners }, (_, i): [number, number] => [
      50 + Math.cos((i / corners) * 2 * Math.PI),
      50 + Math.sin((i / corners) * 2 * Math.PI),
    ])
    return { type: 'Polygon' as const, coordinates: [[...open, open[0] ?? [0, 0]]] }
  }
  const rectangle: Geometry = {
    type: 'Polygon',
    coordinates: [
      [
        [50, 50],
        [51, 50],
        [51, 51],
        [50, 51],
        [50, 50],
      ],
    ],
  }
  const least = bytesOf(rectangle)
  t.equal(bytesOf(ring(5)), least, 'a ring: there is room for its positions')
  t.equal(bytesOf(ring(40)), least + 41 * 16 * 2, 'a shape: its positions, and as much for its tree')
})

t.test('lay: an overlay that does not fit the cache is built each time', async (t) => {
  const layer = createLayer(createByteCache(10))
  const levels = new Array<number>(SIDE * SIDE).fill(3)
  const first = layer.lay('a', graph, state(levels))
  t.not(layer.lay('a', graph, state(levels)), first)
  t.same(layer.lay('a', graph, state(levels)), first)
})
