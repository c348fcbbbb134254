import t from 'tap'
import { createFlatLine, measureFlatLine, readFlatLine } from '../../../src/routing/graph/flat-line.js'
import {
  cornerOffsets,
  cutLine,
  endPoint,
  type LinePoint,
  readLine,
} from '../../../src/routing/graph/geometry.js'
import { makeGraph } from '../../support/make-graph.js'

/** A road of five corners to the east along the equator, 0.001 degree apart. */
const CORNERS: [number, number][] = [0, 1, 2, 3, 4].map((x) => [x / 1000, 0])
const graph = makeGraph({
  junctions: [CORNERS[0]!, CORNERS[4]!],
  roads: [{ from: 0, to: 1, speed: [50, 50], corners: CORNERS.slice(1, 4), lengthMm: 400_000 }],
})

/** The point `x` thousandths of a degree along the road. */
function pointAt(x: number): LinePoint {
  const corner = Math.floor(x)
  return { corner, fraction: x - corner, offsetMm: x * 100_000, lngE7: Math.round(x * 10_000), latE7: 0 }
}

/** Longitudes, in thousandths of a degree, of a part of the road. */
function cut(isAgainst: boolean, from: number | undefined, to: number | undefined): number[] {
  const [begin, end] = [from, to].map((x) => (x === undefined ? undefined : pointAt(x)))
  return cutLine(graph, 0, isAgainst, begin, end).map(([lng]) => Math.round(lng * 1e4) / 10)
}

t.test('cutLine: along the segment, corners between two points, each once', async (t) => {
  t.same(cut(false, undefined, undefined), [0, 1, 2, 3, 4])
  t.same(cut(false, 0.5, 2.5), [0.5, 1, 2, 2.5])
  t.same(cut(false, 1, 3), [1, 2, 3], 'from corner to corner')
  t.same(cut(false, 1.2, 1.8), [1.2, 1.8], 'within one part')
  t.same(cut(false, 2.5, undefined), [2.5, 3, 4])
  t.same(cut(false, undefined, 1.5), [0, 1, 1.5])
  t.same(cut(false, 0, 4), [0, 1, 2, 3, 4])
  t.same(cut(false, 2.5, 2.5), [2.5, 2.5], 'two positions remain')
})

t.test('cutLine: against the segment', async (t) => {
  t.same(cut(true, undefined, undefined), [4, 3, 2, 1, 0])
  t.same(cut(true, 2.5, 0.5), [2.5, 2, 1, 0.5])
  t.same(cut(true, 3, 1), [3, 2, 1], 'from corner to corner')
  t.same(cut(true, 1.8, 1.2), [1.8, 1.2], 'within one part')
  t.same(cut(true, 2.5, undefined), [2.5, 2, 1, 0])
  t.same(cut(true, undefined, 1.5), [4, 3, 2, 1.5])
  t.same(cut(true, 4, 0), [4, 3, 2, 1, 0])
  t.same(cut(true, 2, 2), [2, 2], 'two positions remain')
})

t.test('endPoint: corner, offset and coordinates of both ends', async (t) => {
  t.same(endPoint(graph, 0, false), { corner: 0, fraction: 0, offsetMm: 0, lngE7: 0, latE7: 0 })
  t.same(endPoint(graph, 0, true), { corner: 4, fraction: 0, offsetMm: 400_000, lngE7: 40_000, latE7: 0 })
})

t.test('readFlatLine: arrays grow for a line of many corners, and shorter lines reuse them', async (t) => {
  const corners = Array.from({ length: 300 }, (_, i): [number, number] => [i / 10_000, (i % 2) / 10_000])
  const long = makeGraph({
    junctions: [[0, 0], [0.04, 0]], // biome-ignore format: pairs
    roads: [
      { from: 0, to: 1, speed: [50, 50], corners, lengthMm: 9_000_000 },
      { from: 0, to: 1, speed: [50, 50], lengthMm: 4_452_780 },
    ],
  })
  const flat = createFlatLine()
  for (const segment of [0, 1]) {
    const line: number[] = []
    const offsets: number[] = []
    const lengthMm = long.segmentLengthMm[segment]!
    t.equal(readLine(long, segment, line), segment === 0 ? 302 : 2)
    cornerOffsets(line, lengthMm, offsets)
    readFlatLine(long, segment, flat)
    measureFlatLine(flat, lengthMm)
    t.same([...flat.xy.subarray(0, flat.corners * 2)], line)
    t.same([...flat.offsetsMm.subarray(0, flat.corners)], offsets)
  }
})

t.test('cornerOffsets: 0 up to the last corner of a line whose corners coincide', async (t) => {
  const offsets: number[] = []
  cornerOffsets([5, 5, 5, 5, 5, 5], 12, offsets)
  t.same(offsets, [0, 0, 12])
  const flat = createFlatLine()
  flat.corners = 3
  flat.xy.fill(5)
  measureFlatLine(flat, 12)
  t.same([...flat.offsetsMm.subarray(0, 3)], [0, 0, 12])
})
