import fc from 'fast-check'
import t from 'tap'
import { buildHierarchy } from '../../../src/routing/cch/hierarchy.js'
import { KINDS } from '../../../src/routing/cch/metric.js'
import { coordinatesOf, rankNodes } from '../../../src/routing/cch/order.js'
import { createPotential } from '../../../src/routing/cch/potential.js'
import { prepareNow } from '../../../src/routing/cch/prepared.js'
import { endPoint } from '../../../src/routing/graph/geometry.js'
import type { Graph } from '../../../src/routing/graph/graph.js'
import type { Snap } from '../../../src/routing/graph/snap.js'
import type { End } from '../../../src/routing/search/dijkstra.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { createProfile, freeWeights } from '../../../src/routing/search/profile.js'
import { createSearchState } from '../../../src/routing/search/search-state.js'
import { findTimedRoute } from '../../../src/routing/search/time-dependent.js'
import type { Timeline } from '../../../src/routing/search/timed-search.js'
import { makeGraph } from '../../support/make-graph.js'
import { COSTS, endLists, plainGraph, plainGraphs } from '../../support/random-graph.js'
import { networks, overlayOf, themes } from '../../support/random-network.js'
import { routeNow } from '../../support/routes.js'

const RUNS = Number(process.env.FIELDGATE_TEST_RUNS ?? 300)

t.test('property: a potential is the exact cost to a target, in any order of calls', async () => {
  // the highest are half of what int32 or float64 represents; sums of eleven are exact in a double
  const high = [...COSTS, 2 ** 28, 2 ** 29 - 1, 2 ** 29, 2 ** 49, 2 ** 49 + 1]
  const graphs = fc.oneof(plainGraphs(30), plainGraphs(12, high))
  const cases = graphs.chain((graph) =>
    fc.record({
      graph: fc.constant(graph),
      targets: endLists(graph.nodeCount),
      asked: fc.array(fc.nat(graph.nodeCount - 1), { minLength: 1, maxLength: 20 }),
    }),
  )
  fc.assert(
    fc.property(cases, ({ graph, targets, asked }) => {
      const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
      const { weights } = graph
      const oracle = createDijkstraSearch(graph, weights, createSearchState(graph.nodeCount))
      for (const kind of KINDS) {
        const potential = createPotential(prepareNow({ roads: graph, hierarchy, weights }, kind), targets)
        const isLow = weights.every((ms) => ms <= 1_000_003)
        if (potential === undefined && (isLow || kind === 'wide')) throw new Error(`none under ${kind}`)
        for (const node of asked) {
          const path = oracle.one([{ node, costMs: 0 }], targets, { maxSettledNodes: 1e9 })
          const expected = path?.costMs ?? Number.POSITIVE_INFINITY
          const found = potential?.(node) ?? expected
          if (found !== expected) throw new Error(`${kind}, node ${node}: ${found}, expected ${expected}`)
        }
      }
    }),
    { numRuns: RUNS },
  )
})

t.test(
  'createPotential: a sum may exceed what the metric represents, a cost that is summed up may not',
  (t) => {
    for (const [kind, safeMs] of [
      ['int32', 2 ** 29],
      ['float64', 2 ** 50],
    ] as const) {
      const ms = safeMs - 1
      const graph = plainGraph(
        5,
        [0, 1, 2, 3].map((from) => ({ from, to: from + 1, ms })),
      )
      const prepare = (rank: readonly number[]) =>
        prepareNow({ roads: graph, hierarchy: buildHierarchy(graph, Uint32Array.from(rank)), ...graph }, kind)
      const targets = [{ node: 4, costMs: 0 }]
      t.equal(createPotential(prepare([0, 1, 2, 3, 4]), targets)?.(0), 4 * ms, `${kind}, upwards`)
      t.equal(createPotential(prepare([4, 3, 2, 1, 0]), targets), undefined, `${kind}, downwards`)
      const dear = [{ node: 4, costMs: safeMs }]
      t.equal(createPotential(prepare([0, 1, 2, 3, 4]), dear), undefined, `${kind}, an end`)
    }
    t.end()
  },
)

t.test(
  'property: a time-dependent search finds a route of the same cost with a potential as without',
  async (t) => {
    let found = 0
    const cases = networks().chain((network) => {
      const lengths = [...makeGraph(network).segmentLengthMm]
      return fc.record({
        network: fc.constant(network),
        slots: fc.array(fc.tuple(fc.integer({ min: 1, max: 400_000 }), themes(lengths)), {
          minLength: 1,
          maxLength: 3,
        }),
        ends: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { minLength: 2, maxLength: 3 }),
      })
    })
    fc.assert(
      fc.property(cases, ({ network, slots, ends }) => {
        const graph = makeGraph(network)
        const starts = [
          0,
          ...slots
            .slice(1)
            .map(([startMs]) => startMs)
            .sort((a, b) => a - b),
        ]
        const profiles = slots.map(([, { pieces, sensitivity }]) =>
          createProfile(graph, [{ overlay: overlayOf(pieces), sensitivity }]),
        )
        const plain: Timeline = { slotStartMs: starts, profileOf: (slot) => profiles[slot]! }
        const places = ends.map(([road, part]) => placeOf(graph, road % graph.segmentCount, part / 1000))
        const routeOf = (timetable: Timeline) => {
          try {
            return routeNow(findTimedRoute(timetable, places, { maxSettledNodes: 1e9 }))
          } catch (error) {
            return `${error}`
          }
        }
        const expected = routeOf(plain)
        const guided = routeOf({ ...plain, potentialTo: boundsOf(graph) })
        if (typeof expected === 'string' || typeof guided === 'string') {
          if (guided !== expected) throw new Error(`found ${guided}, expected ${expected}`)
          return
        }
        found++
        // of several routes of one cost, for instance over twin roads, either may be found
        if (guided.costMs !== expected.costMs)
          throw new Error(`found ${JSON.stringify(guided)}, expected ${JSON.stringify(expected)}`)
      }),
      { numRuns: RUNS },
    )
    t.ok(found > RUNS / 5, `${found} routes compared`)
  },
)

function boundsOf(graph: Graph): (targets: readonly End[]) => (node: number) => number {
  const hierarchy = buildHierarchy(graph, rankNodes(graph, coordinatesOf(graph, graph.meta.bbox)))
  const prepared = prepareNow({ roads: graph, hierarchy, weights: freeWeights(graph) }, 'int32')
  return (targets) => createPotential(prepared, targets)!
}

function placeOf(graph: Graph, segment: number, part: number): Snap {
  const offsetMm = Math.floor(part * graph.segmentLengthMm[segment]!)
  return {
    lng: 0,
    lat: 0,
    distanceM: 0,
    points: [{ ...endPoint(graph, segment, false), segment, offsetMm }],
  }
}
