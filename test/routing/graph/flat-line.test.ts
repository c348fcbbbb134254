import { ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createFlatLine, measureFlatLine, readFlatLine } from '../../../src/routing/graph/flat-line.js'
import { cornerOffsets, readLine } from '../../../src/routing/graph/geometry.js'
import { localScale } from '../../../src/routing/graph/local-scale.js'
import { planeLengthM } from '../../../src/routing/graph/plane-length.js'
import { makeGraph } from '../../support/make-graph.js'

const position = fc.tuple(
  fc.double({ min: -179, max: 179, noNaN: true }),
  fc.double({ min: -89, max: 89, noNaN: true }),
)

t.test('property: readFlatLine and measureFlatLine agree with readLine and cornerOffsets', async (t) => {
  const line = createFlatLine()
  fc.assert(
    fc.property(position, position, fc.array(position, { maxLength: 90 }), (from, to, corners) => {
      const graph = makeGraph({
        junctions: [from, to],
        roads: [{ from: 0, to: 1, speed: [30, 30], corners, lengthMm: 123_456 }],
      })
      const xy: number[] = []
      const offsets: number[] = []
      readLine(graph, 0, xy)
      cornerOffsets(xy, 123_456, offsets)
      readFlatLine(graph, 0, line)
      measureFlatLine(line, 123_456)
      t.same(line.corners, offsets.length)
      t.same(Array.from(line.xy.subarray(0, xy.length)), xy)
      t.same(Array.from(line.offsetsMm.subarray(0, offsets.length)), offsets)
    }),
    { numRuns: 100 },
  )
})

t.test('property: planeLengthM agrees with the local scale at the middle', async () => {
  const near = fc.integer({ min: -200_000, max: 200_000 })
  fc.assert(
    fc.property(
      fc.integer({ min: -899_000_000, max: 899_000_000 }),
      near,
      near,
      fc.boolean(),
      (y, dx, dy, isEast) => {
        const [x, by] = [isEast ? 1_300_000_000 : -80_000_000, Math.min(900_000_000, y + dy)]
        const scale = localScale((y + by) / 2)
        const expected = Math.hypot(dx * scale.lngM, (by - y) * scale.latM)
        ok(Math.abs(planeLengthM(x, y, x + dx, by) - expected) <= 1e-11 + expected * 1e-13)
      },
    ),
    { numRuns: 2000 },
  )
})

t.test('planeLengthM: the poles, and the border of two bands', async (t) => {
  for (const lat of [-900_000_000, 900_000_000, 0, 2 ** 20, -(2 ** 20)]) {
    const { lngM } = localScale(lat)
    t.ok(Math.abs(planeLengthM(0, lat, 1000, lat) - lngM * 1000) < 1e-9)
  }
})
