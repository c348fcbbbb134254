import fc from 'fast-check'
import t from 'tap'
import { finish, type Kind, kernelsOf, startCustomisation } from '../../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../../src/routing/cch/hierarchy.js'
import { coordinatesOf, rankNodes } from '../../../src/routing/cch/order.js'
import { createPotential } from '../../../src/routing/cch/potential.js'
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
import { endLists, plainGraphs } from '../../support/random-graph.js'
import { networks, overlayOf, themes } from '../../support/random-network.js'
import { routeNow } from '../../support/routes.js'

const RUNS = Number(process.env.FIELDGATE_TEST_RUNS ?? 300)

t.test('property: a potential is the exact cost to a target, in any order of calls', async () => {
  const cases = plainGraphs(30).chain((graph) =>
    fc.record({
      graph: fc.constant(graph),
      targets: endLists(graph.nodeCount),
      asked: fc.array(fc.nat(graph.nodeCount - 1), { minLength: 1, maxLength: 20 }),
      kind: fc.constantFrom<Kind>('int32', 'float64'),
    }),
  )
  fc.assert(
    fc.property(cases, ({ graph, targets, asked, kind }) => {
      const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
      const metric = finish(startCustomisation(hierarchy, graph.weights, kind))
      const potential = createPotential(hierarchy, kernelsOf(kind), metric, targets)
      const oracle = createDijkstraSearch(graph, graph.weights, createSearchState(graph.nodeCount))
      for (const node of asked) {
        const path = oracle.one([{ node, costMs: 0 }], targets, { maxSettledNodes: 1e9 })
        const expected = path?.costMs ?? Number.POSITIVE_INFINITY
        if (potential(node) !== expected)
          throw new Error(`node ${node}: ${potential(node)}, expected ${expected}`)
      }
    }),
    { numRuns: RUNS },
  )
})

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
  const metric = finish(startCustomisation(hierarchy, freeWeights(graph), 'int32'))
  return (targets) => createPotential(hierarchy, kernelsOf('int32'), metric, targets)
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
