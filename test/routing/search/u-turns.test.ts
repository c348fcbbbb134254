import fc from 'fast-check'
import t from 'tap'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { findAlternatives } from '../../../src/routing/search/alternatives.js'
import { findIsochrones } from '../../../src/routing/search/isochrone.js'
import { findMatrix } from '../../../src/routing/search/matrix.js'
import type { Profile } from '../../../src/routing/search/profile.js'
import { findOrder, findRoute } from '../../../src/routing/search/route.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { findTimedRoute } from '../../../src/routing/search/time-dependent.js'
import { makeGraph, type Network } from '../../support/make-graph.js'
import { oracleCost, type Spot, type World } from '../../support/oracle.js'
import { networks, themes } from '../../support/random-network.js'
import { placeAt, profileOf, searchesOf, spotOf, worldOf } from '../../support/random-world.js'
import { at } from '../../support/town.js'

const RUNS = Number(process.env.FIELDGATE_TEST_RUNS ?? 150)
const NEVER = Number.POSITIVE_INFINITY

/** Brute force over the roads; traffic turns round elsewhere only where there is no other way. */
function strictCost(world: World, starts: readonly Spot[], goals: readonly Spot[]): number {
  const strictMs = oracleCost(world, starts, goals)
  if (Number.isFinite(strictMs)) return strictMs
  const free = { ...world, network: { ...world.network, noUTurn: [] } }
  return oracleCost(free, starts, goals)
}

/** Worlds with turn restrictions, and four places. */
const cases = networks()
  .filter(({ restrictions = [] }) => restrictions.length > 0)
  .chain((network) =>
    fc.record({
      network: fc.constant({ ...network, noUTurn: network.roads.flatMap((_, i) => [i * 2, i * 2 + 1]) }),
      risk: fc.array(themes([...makeGraph(network).segmentLengthMm]), { maxLength: 1 }),
      ends: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { minLength: 4, maxLength: 4 }),
    }),
  )

type Case = typeof cases extends fc.Arbitrary<infer C> ? C : never

function open({ network, risk, ends }: Case) {
  const graph = makeGraph(network)
  const world = worldOf(network, graph, risk, [])
  const spots = ends.map((end) => spotOf(graph, end))
  return {
    graph,
    world,
    profile: profileOf(graph, world),
    spots,
    snaps: spots.map((spot) => placeAt(graph, spot)),
  }
}

const control = () => ({ maxSettledNodes: 1e9 })

t.test('property: a matrix costs what routes cost that do not turn round', async () => {
  fc.assert(
    fc.property(cases, (given) => {
      const { world, profile, spots, snaps } = open(given)
      for (const search of searchesOf(profile)) {
        const { costMs } = runToEnd(
          findMatrix({ profile, search, control: control() }, snaps.slice(0, 2), snaps),
        )
        for (const [row, start] of spots.slice(0, 2).entries()) {
          for (const [column, goal] of spots.entries()) {
            const ms = strictCost(world, [start], [goal])
            if (costMs[row * 4 + column] !== ms)
              throw new Error(`${costMs[row * 4 + column]} ms, expected ${ms}`)
          }
        }
      }
    }),
    { numRuns: RUNS },
  )
})

t.test('property: the best order is the best of routes that do not turn round', async () => {
  fc.assert(
    fc.property(cases, (given) => {
      const { world, profile, spots, snaps } = open(given)
      const ms = (a: number, b: number) => strictCost(world, [spots[a]!], [spots[b]!])
      const best = Math.min(ms(0, 1) + ms(1, 2) + ms(2, 3), ms(0, 2) + ms(2, 1) + ms(1, 3))
      for (const search of searchesOf(profile)) {
        const order = findOrder({ profile, search, control: control() }, snaps)
        const found = 'blockedLeg' in order ? NEVER : order.costMs
        if (found !== best) throw new Error(`an order of ${found} ms, expected ${best}`)
      }
    }),
    { numRuns: RUNS },
  )
})

t.test('property: an isochrone counts the junctions that routes reach without turning round', async () => {
  fc.assert(
    fc.property(cases, fc.nat(200_000), (given, limitMs) => {
      const { graph, world, profile, spots, snaps } = open(given)
      const start = spots[0]!
      const isStart = startJunction(graph, start)
      let expected = 0
      for (let junction = 0; junction < graph.junctionCount; junction++) {
        const places = spotsAt(graph, junction)
        const isReached = junction === isStart || strictCost(world, [start], places) <= limitMs
        if (isReached) expected++
      }
      for (const search of searchesOf(profile)) {
        const [area] = runToEnd(findIsochrones({ profile, search, control: control() }, snaps[0]!, [limitMs]))
        if (area?.junctionCount !== expected)
          throw new Error(`${area?.junctionCount} junctions, expected ${expected}`)
      }
    }),
    { numRuns: RUNS },
  )
})

/** The cross b, where turning left from ab to bd is forbidden; the way round by c and e is slow. */
function evadable() {
  const roads: Network['roads'] = [
    { from: 0, to: 1, speed: [50, 50] }, // ab
    { from: 1, to: 2, speed: [50, 50] }, // bc
    { from: 1, to: 3, speed: [50, 50] }, // bd
    { from: 2, to: 4, speed: [10, 10] }, // ce
    { from: 4, to: 3, speed: [10, 10] }, // ed
  ]
  const network: Network = {
    junctions: [at(0, 0), at(1, 0), at(2, 0), at(1, 1), at(2, 1)],
    roads,
    restrictions: [{ kind: 'no', links: [0, 4] }],
    noUTurn: [0, 2, 3, 4, 5, 6, 7, 8, 9],
  }
  const graph = makeGraph(network)
  const spots: Spot[] = [{ segment: 0, offsetMm: 1000 }, { segment: 2, offsetMm: graph.segmentLengthMm[2]! - 1000 }] // biome-ignore format: places
  return {
    graph,
    profile: profileOf(graph, worldOf(network, graph, [], [])),
    snaps: spots.map((spot) => placeAt(graph, spot)),
  }
}

t.test(
  'a turn restriction is not evaded by turning round at the next junction, whatever is asked',
  async (t) => {
    const { profile, snaps } = evadable()
    const timeline = { slotStartMs: [0], profileOf: () => profile }
    for (const search of searchesOf(profile)) {
      const searcher = { profile, search, control: control() }
      const route = runToEnd(findRoute(searcher, snaps))
      if ('blockedLeg' in route) throw new Error('there is a route')
      t.same(
        route.legs[0]?.map(({ link }) => link),
        [0, 2, 6, 8, 5],
        'by c and e',
      )
      t.equal(runToEnd(findMatrix(searcher, snaps.slice(0, 1), snaps.slice(1))).costMs[0], route.costMs)
      t.same(findOrder(searcher, [snaps[0]!, snaps[1]!, snaps[1]!]), {
        via: [0],
        costMs: route.costMs,
        isOptimal: true,
      })
      const [soon, later] = runToEnd(
        findIsochrones(searcher, snaps[0]!, [route.costMs - 1000, route.costMs + 1000]),
      )
      t.same([soon?.junctionCount, later?.junctionCount], [4, 5], 'd is reached as late as the route says')
      const timed = runToEnd(findTimedRoute(timeline, snaps, control()))
      t.equal('blockedLeg' in timed ? NEVER : timed.costMs, route.costMs, 'time-dependent departure')
      const searchWith = (weights: Profile['weights']) => searchesOf({ ...profile, weights })[0]!
      t.same(runToEnd(findAlternatives(searcher, snaps, route, 3, searchWith)), [], 'no other way')
    }
  },
)

/** Ends of the roads at a junction, as goals. */
function spotsAt(graph: Graph, junction: number): Spot[] {
  const spots: Spot[] = []
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    if (graph.segmentTail[segment] === junction) spots.push({ segment, offsetMm: 0 })
    if (graph.segmentHead[segment] === junction)
      spots.push({ segment, offsetMm: graph.segmentLengthMm[segment]! })
  }
  return spots
}

/** Junction that a place lies on, -1 = none. */
function startJunction(graph: Graph, { segment, offsetMm }: Spot): number {
  if (offsetMm === 0) return graph.segmentTail[segment]!
  return offsetMm === graph.segmentLengthMm[segment] ? graph.segmentHead[segment]! : -1
}
