import fc from 'fast-check'
import t from 'tap'
import { cornerOffsets, cutLine, readLine } from '../../../src/routing/graph/geometry.js'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { localScale } from '../../../src/routing/graph/local-scale.js'
import { nearestJunction } from '../../../src/routing/graph/nearest-junction.js'
import { snap } from '../../../src/routing/graph/snap.js'
import { makeGraph, type Network } from '../../support/make-graph.js'

/**
 * A street of 0.01 degree to the east at 50° N, 716 m, and one north of it that is not part of the main
 * network.
 */
const STREETS: Network = {
  junctions: [[10, 50], [10.01, 50], [10, 50.002], [10.01, 50.002]], // biome-ignore format: pairs
  roads: [
    { from: 0, to: 1, speed: [50, 50] },
    { from: 2, to: 3, speed: [50, 50], isMain: false },
  ],
}

t.test('snap: the foot of the perpendicular, its offset along the road, its distance', async (t) => {
  const place = snap(makeGraph(STREETS), 10.0025, 50.0002, 1000)
  const [position] = place!.points
  t.equal(place!.points.length, 1)
  t.match(position, { segment: 0, corner: 0, lngE7: 100_025_000, latE7: 500_000_000 })
  t.ok(Math.abs(position!.offsetMm - 716_959 / 4) < 60, `offset ${position!.offsetMm} mm`)
  t.ok(Math.abs(place!.distanceM - 22.245) < 0.01, `distance ${place!.distanceM} m`)
})

t.test('snap: within the limit a road of the main network wins over a nearer one outside it', async (t) => {
  const graph = makeGraph(STREETS)
  t.equal(snap(graph, 10.005, 50.0018, 1000)?.points[0]?.segment, 0)
  t.equal(snap(graph, 10.005, 50.0018, 100)?.points[0]?.segment, 1, 'the main one is 200 m away')
})

t.test('snap: undefined when no drivable road is near enough', async (t) => {
  const graph = makeGraph(STREETS)
  t.equal(snap(graph, 10.005, 49.99, 1000), undefined)
  t.ok(snap(graph, 10.005, 49.99, 1200))
  const closed = makeGraph({ ...STREETS, roads: STREETS.roads.map((road) => ({ ...road, speed: [0, 0] })) })
  t.equal(snap(closed, 10.005, 50, 1000), undefined)
})

t.test('snap: of equally near segments the smaller number wins', async (t) => {
  const twins = makeGraph({
    junctions: [
      [10, 50],
      [10.01, 50],
    ],
    roads: [
      { from: 0, to: 1, speed: [50, 50] },
      { from: 0, to: 1, speed: [50, 50] },
    ],
  })
  t.equal(snap(twins, 10.004, 50.0001, 1000)?.points[0]?.segment, 0)
})

t.test('snap: a junction is an end of every road that meets there', async (t) => {
  const graph = makeGraph({
    junctions: [[10, 50], [10.01, 50], [10.01, 50.01]], // biome-ignore format: pairs
    roads: [
      { from: 0, to: 1, speed: [50, 50] },
      { from: 1, to: 2, speed: [50, 0] },
      { from: 1, to: 1, speed: [20, 20], corners: [[10.011, 49.999], [10.011, 50.001]] }, // biome-ignore format: pairs
      { from: 1, to: 2, speed: [0, 0] },
    ],
  })
  const place = snap(graph, 10.0101, 50.00001, 1000)!
  const junction = snap(graph, 10.01, 50, 1000)!
  t.equal(place.points.length, 1, 'beside the junction: one spot')
  t.same(
    junction.points.map(({ segment, offsetMm }) => [segment, offsetMm]),
    [
      [0, graph.segmentLengthMm[0]],
      [1, 0],
      [2, 0],
      [2, graph.segmentLengthMm[2]],
    ],
  )
})

t.test('snap: the limit holds below the first radius of the search, too', async (t) => {
  const graph = makeGraph(STREETS)
  t.equal(snap(graph, 10.0025, 50.0002, 20), undefined, 'the road is 22 m away')
  t.ok(snap(graph, 10.0025, 50.0002, 23))
})

t.test('snap: a road that may be driven against its geometry only', async (t) => {
  const graph = makeGraph({ ...STREETS, roads: [{ from: 0, to: 1, speed: [0, 50] }] })
  t.equal(snap(graph, 10.005, 50, 1000)?.points[0]?.segment, 0)
})

t.test('snap: of two roads at the same distance on both sides the smaller number wins', async (t) => {
  for (const [first, second] of [
    [1, -1],
    [-1, 1],
  ] as const) {
    // biome-ignore format: pairs
    const graph = makeGraph({
      junctions: [first, first, second, second].map((side, i): [number, number] => [
        10 + (i % 2) / 100,
        50 + side / 1000,
      ]),
      roads: [
        { from: 0, to: 1, speed: [50, 50] },
        { from: 2, to: 3, speed: [50, 50] },
      ],
    })
    t.equal(snap(graph, 10.005, 50, 1000)?.points[0]?.segment, 0)
  }
})

t.test('snap: corners that coincide, and a road of one point', async (t) => {
  const repeated = makeGraph({
    junctions: [[10, 50], [10.01, 50]], // biome-ignore format: pairs
    roads: [{ from: 0, to: 1, speed: [50, 50], corners: [[10, 50], [10.005, 50], [10.005, 50]] }], // biome-ignore format: pairs
  })
  const place = snap(repeated, 10.0075, 50.0001, 1000)!
  t.match(place.points, [{ corner: 3, lngE7: 100_075_000, latE7: 500_000_000 }])
  t.ok(Math.abs(place.distanceM - 11.12) < 0.01, `${place.distanceM} m`)
  const spot = makeGraph({ junctions: [[10, 50], [10, 50]], roads: [{ from: 0, to: 1, speed: [50, 50] }] }) // biome-ignore format: pairs
  t.match(snap(spot, 10, 50.0001, 1000)?.points, [
    { segment: 0, fraction: 0, offsetMm: 0, lngE7: 100_000_000, latE7: 500_000_000 },
  ])
})

t.test('snap: ends at a junction ascend by segment, those outside the main network included', async (t) => {
  // a star of 40 roads around junction 0; the ends are in an order that a space-filling curve does not keep
  const angles = Array.from({ length: 40 }, (_, i) => (((i * 17) % 40) / 20) * Math.PI)
  const star = makeGraph({
    junctions: [
      [10, 50],
      ...angles.map((a): [number, number] => [10 + Math.cos(a) / 100, 50 + Math.sin(a) / 100]),
    ],
    roads: angles.map((_, i) => ({ from: 0, to: i + 1, speed: [50, 50], isMain: i % 3 !== 1 })),
  })
  const { points } = snap(star, 10, 50, 1000)!
  t.same(
    points.map(({ segment, corner, offsetMm }) => [segment, corner, offsetMm]),
    angles.map((_, i) => [i, 0, 0]),
  )
})

t.test('property: snap agrees with sampling all roads in small steps', async (t) => {
  const degree = fc.integer({ min: 0, max: 200 }).map((n) => n / 10_000)
  const point = fc.tuple(
    degree.map((d) => 24 + d),
    degree.map((d) => 60 + d),
  )
  const roads = fc.array(fc.record({ from: point, to: point, corners: fc.array(point, { maxLength: 4 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  fc.assert(
    fc.property(roads, point, (lines, [lng, lat]) => {
      const graph = makeGraph({
        junctions: lines.flatMap(({ from, to }) => [from, to]),
        roads: lines.map(({ corners }, i) => ({ from: i * 2, to: i * 2 + 1, corners, speed: [50, 50] })),
      })
      const place = snap(graph, lng, lat, 5000)
      const walkedM = Math.min(...lines.map((_, segment) => walk(graph, segment, lng, lat)))
      // the walk steps some 1.5 m at most
      return place !== undefined && place.distanceM <= walkedM + 1e-9 && place.distanceM > walkedM - 1.6
    }),
    { numRuns: 300 },
  )
  t.pass('300 maps')
})

t.test(
  'property: a point of a road agrees with its offset, and the two parts of a cut join up',
  async (t) => {
    const degree = fc.integer({ min: 0, max: 100_000 }).map((n) => n / 1e7)
    const point = fc.tuple(
      degree.map((d) => -8.6 + d),
      degree.map((d) => 41.1 + d),
    )
    fc.assert(
      fc.property(point, point, fc.array(point, { maxLength: 5 }), point, (from, to, corners, [lng, lat]) => {
        const graph = makeGraph({
          junctions: [from, to],
          roads: [{ from: 0, to: 1, corners, speed: [50, 50] }],
        })
        const position = snap(graph, lng, lat, 5000)?.points[0]
        if (position === undefined) return graph.segmentLengthMm[0] === 0
        const whole = cutLine(graph, 0, false, undefined, undefined)
        const before = cutLine(graph, 0, false, undefined, position)
        const after = cutLine(graph, 0, true, undefined, position).reverse()
        const here = [position.lngE7 / 1e7, position.latE7 / 1e7]
        const joined = [...before, ...after.slice(1)]
        const isCut =
          JSON.stringify(before.at(-1)) === JSON.stringify(here) &&
          JSON.stringify(after[0]) === JSON.stringify(here)
        const kept = joined.filter((corner) =>
          whole.some((other) => JSON.stringify(other) === JSON.stringify(corner)),
        )
        const offsetOfCut = lengthOf(before) * 1000
        return (
          isCut &&
          before.length >= 2 &&
          after.length >= 2 &&
          kept.length >= Math.min(whole.length, 2) - 1 &&
          Math.abs(offsetOfCut - position.offsetMm) < 30
        )
      }),
      { numRuns: 300 },
    )
    t.pass('300 roads')
  },
)

t.test('property: the nearest junction agrees with a search over all of them', async (t) => {
  const degree = fc.integer({ min: -300, max: 300 })
  const point = fc.tuple(
    degree.map((d) => 139 + d / 1000),
    degree.map((d) => 35 + d / 1000),
  )
  fc.assert(
    fc.property(fc.array(point, { minLength: 1, maxLength: 80 }), point, (junctions, [lng, lat]) => {
      const graph = makeGraph({ junctions, roads: [{ from: 0, to: 0, speed: [1, 1] }] })
      const { lngM, latM } = localScale(lat * 1e7)
      const squares = junctions.map(
        ([x, y]) =>
          ((Math.round(x * 1e7) - lng * 1e7) * lngM) ** 2 + ((Math.round(y * 1e7) - lat * 1e7) * latM) ** 2,
      )
      return nearestJunction(graph, lng, lat) === squares.indexOf(Math.min(...squares))
    }),
    { numRuns: 500 },
  )
  t.pass('500 maps')
})

/** Returns the distance to a road by sampling it. */
function walk(graph: Graph, segment: number, lng: number, lat: number): number {
  const line: number[] = []
  const corners = readLine(graph, segment, line)
  const { lngM, latM } = localScale(lat * 1e7)
  let best = Number.POSITIVE_INFINITY
  for (let corner = 0; corner + 1 < corners; corner++) {
    const [ax, ay, bx, by] = line.slice(corner * 2, corner * 2 + 4) as [number, number, number, number]
    for (let i = 0; i <= 1000; i++) {
      const x = ax + ((bx - ax) * i) / 1000
      const y = ay + ((by - ay) * i) / 1000
      best = Math.min(best, Math.hypot((x - lng * 1e7) * lngM, (y - lat * 1e7) * latM))
    }
  }
  return best
}

function lengthOf(line: [number, number][]): number {
  const offsets: number[] = []
  const flat = line.flat().map((degree) => Math.round(degree * 1e7))
  cornerOffsets(flat, 1, offsets)
  let totalM = 0
  for (let i = 1; i < line.length; i++) {
    const { lngM, latM } = localScale((flat[i * 2 + 1]! + flat[i * 2 - 1]!) / 2)
    totalM += Math.hypot(
      (flat[i * 2]! - flat[i * 2 - 2]!) * lngM,
      (flat[i * 2 + 1]! - flat[i * 2 - 1]!) * latM,
    )
  }
  return totalM
}
