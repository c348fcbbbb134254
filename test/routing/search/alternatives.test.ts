import t from 'tap'
import type { RouteFeature } from '../../../src/route-answer/features.js'
import { snapPoints } from '../../../src/route-engine/locate.js'
import { findAlternatives, MAX_COST_RATIO, MAX_SHARED } from '../../../src/routing/search/alternatives.js'
import type { Control, Weights } from '../../../src/routing/search/dijkstra.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { findRoute } from '../../../src/routing/search/route.js'
import { createSearchState } from '../../../src/routing/search/search-state.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { makeGraph, type Restriction } from '../../support/make-graph.js'
import { type RouteAnswer, routeNow } from '../../support/routes.js'
import { throwsWith } from '../../support/throws.js'
import { ask, asked, at, town } from '../../support/town.js'

t.test('findAlternatives: further routes differ from each other and are not much longer', async (t) => {
  const best = ask(town(), { points: [at(0, 0), at(4, 4)] })
  const answer = ask(town(), { points: [at(0, 0), at(4, 4)], wishes: { alternatives: 4 } })
  const others = answer.alternatives as RouteAnswer[]
  t.ok(others.length >= 2, `${others.length} further routes`)
  t.same(
    { ...answer, alternatives: undefined },
    { ...best, alternatives: undefined },
    'the best one stays first',
  )
  const routes = [answer, ...others]
  for (const [i, route] of routes.entries()) {
    t.ok(route.total_cost <= answer.total_cost * MAX_COST_RATIO)
    t.same(featuresOf(route)[0]?.geometry.coordinates[0], at(0, 0))
    t.same(featuresOf(route).at(-1)?.geometry.coordinates.at(-1), at(4, 4))
    for (const other of routes.slice(0, i)) {
      const links = new Set(featuresOf(other).map((f) => f.properties.edge_id))
      const shared = featuresOf(route).filter((f) => links.has(f.properties.edge_id))
      const sharedH = shared.reduce((sum, f) => sum + f.properties.time, 0)
      t.ok(sharedH <= route.time * MAX_SHARED + 1e-6, `shares ${(sharedH / route.time).toFixed(2)}`)
    }
  }
})

t.test('findAlternatives: none, condition a single road or nothing to drive', async (t) => {
  const road = {
    junctions: [at(0, 0), at(1, 0), at(2, 0)],
    roads: [
      { from: 0, to: 1, speed: [50, 50] as [number, number] },
      { from: 1, to: 2, speed: [50, 50] as [number, number] },
    ],
  }
  const wishes = { alternatives: 5 }
  t.same(ask(road, { points: [at(0, 0), at(2, 0)], wishes }).alternatives, [])
  t.same(ask(town(), { points: [at(0.1, 0), at(0.9, 0)], wishes: { alternatives: 5 } }).alternatives, [])
  t.same(ask(town(), { points: [at(1, 1), at(1, 1)], wishes }).alternatives, [])
  t.equal(ask(town(), { points: [at(0, 0), at(2, 0)] }).alternatives, undefined)
})

t.test('findAlternatives: no route that is much longer', async (t) => {
  const between = (farY: number) => ({
    junctions: [at(0, 0), at(2, 0), at(1, farY)],
    roads: [
      { from: 0, to: 1, speed: [50, 50] as [number, number] },
      { from: 0, to: 2, speed: [50, 50] as [number, number] },
      { from: 2, to: 1, speed: [50, 50] as [number, number] },
    ],
  })
  const further = (farY: number) =>
    (
      ask(between(farY), { points: [at(0, 0), at(2, 0)], wishes: { alternatives: 2 } })
        .alternatives as RouteAnswer[]
    ).length
  t.equal(further(0.5), 1, '1.27 times as long')
  t.equal(further(1), 0, '1.85 times as long')
})

t.test('findAlternatives: goes through the via points as the best route does', async (t) => {
  const via = at(4, 0)
  const answer = ask(town(), { points: [at(0, 0), via, at(4, 4)], wishes: { alternatives: 3 } })
  for (const route of answer.alternatives as RouteAnswer[]) {
    const stops = featuresOf(route).filter((f) => f.properties.waypoint)
    t.same(
      stops.map((f) => f.geometry.coordinates.at(-1)),
      [via, at(4, 4)],
    )
  }
})

/** Roads at 36 km/h, 10 mm each millisecond, between numbered junctions along a street to the east. */
function streets(
  lengths: readonly (readonly [from: number, to: number, ms: number])[],
  restrictions: Restriction[] = [],
) {
  const count = 1 + Math.max(...lengths.map(([from, to]) => Math.max(from, to)))
  const junctions = Array.from({ length: count }, (_, x) => at(x, 0))
  const roads = lengths.map(([from, to, ms]) => ({
    from,
    to,
    speed: [36, 36] as [number, number],
    lengthMm: ms * 10,
  }))
  return { junctions, roads, restrictions }
}

/** Costs of the further routes from the first junction to the last but one. */
function furtherCosts(network: ReturnType<typeof streets>, goal: number, alternatives: number): number[] {
  const points = [at(0, 0), at(goal, 0)]
  const answer = ask(network, { points, wishes: { alternatives: alternatives + 1 } })
  return (answer.alternatives as RouteAnswer[]).map((route) => Math.round(route.total_cost * 3.6e6))
}

t.test('findAlternatives: up to 1.4 times the cost of the best route', async (t) => {
  const costs = (ms: number) => furtherCosts(streets([[0, 1, 1000], [0, 1, ms]]), 1, 1) // biome-ignore format: roads
  t.same(costs(1400), [1400])
  t.same(costs(1401), [])
})

t.test('findAlternatives: up to three quarters in common with a route before it', async (t) => {
  const costs = (sharedMs: number) => furtherCosts(streets([[0, 1, sharedMs], [1, 2, 1000], [1, 2, 1000]]), 2, 1) // biome-ignore format: roads
  t.same(costs(3000), [4000])
  t.same(costs(3004), [])
})

t.test('findAlternatives: the penalty of a road that every route uses has a limit', async (t) => {
  const parallel = [1000, 1010, 1020, 1030, 1040].map((ms) => [1, 2, ms] as const)
  t.same(furtherCosts(streets([[0, 1, 500], ...parallel]), 2, 4), [1510, 1520, 1530, 1540])
})

t.test('findAlternatives: as many as wanted, cheapest first', async (t) => {
  const network = streets([[0, 1, 1000], [0, 1, 1300], [0, 1, 1100], [0, 1, 1200]]) // biome-ignore format: roads
  t.same(furtherCosts(network, 1, 3), [1100, 1200, 1300])
  t.same(furtherCosts(network, 1, 2), [1100, 1200])
  t.same(furtherCosts(network, 1, 1), [1100])
})

t.test('findAlternatives: no route that leaves the best one for more than twice its cost', async (t) => {
  // to junction 1 by a or by c; from there by b, which must not follow c, or by d; then on to 3
  const roads = (dMs: number) =>
    streets(
      [[0, 1, 5000], [0, 1, 5500], [1, 2, 1000], [1, 2, dMs], [2, 3, 1000]], // biome-ignore format: roads
      [{ kind: 'no', links: [2, 4] }],
    )
  t.same(furtherCosts(roads(2000), 3, 1), [8500], 'd costs twice as much as b')
  t.same(furtherCosts(roads(2001), 3, 1), [])
})

t.test('findAlternatives: CANCELLED when the caller hangs up meanwhile', async (t) => {
  const graph = makeGraph(town())
  const profile = createProfile(graph)
  const control: Control = { maxSettledNodes: 1e9 }
  const searchWith = (weights: Weights) =>
    createDijkstraSearch(graph, weights, createSearchState(graph.nodeCount))
  const searcher = { profile, search: searchWith(profile.weights), control }
  const snaps = snapPoints({ name: 'town', graph }, asked([at(0, 0), at(4, 4)]), 1000)
  const best = routeNow(findRoute(searcher, snaps))
  const stopped = (weights: Weights) => ({
    ...searchWith(weights),
    one(_sources: unknown, _targets: unknown, stop: Control) {
      stop.stoppedBy = 'cancel'
      return undefined
    },
  })
  throwsWith(t, () => runToEnd(findAlternatives(searcher, snaps, best, 2, stopped)), 'CANCELLED')
})

function featuresOf(answer: RouteAnswer): RouteFeature[] {
  return (answer.geojson as { features: RouteFeature[] }).features
}
