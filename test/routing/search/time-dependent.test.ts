import fc from 'fast-check'
import t from 'tap'
import { endPoint } from '../../../src/routing/graph/geometry.js'
import type { Graph } from '../../../src/routing/graph/graph.js'
import type { Snap } from '../../../src/routing/graph/snap.js'
import type { End } from '../../../src/routing/search/dijkstra.js'
import { findLeg } from '../../../src/routing/search/leg.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { endsOf } from '../../../src/routing/search/link-ends.js'
import { createProfile, freeWeights } from '../../../src/routing/search/profile.js'
import { createSearchState } from '../../../src/routing/search/search-state.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { findTimedRoute } from '../../../src/routing/search/time-dependent.js'
import { MAX_SLOTS, type Timeline } from '../../../src/routing/search/timed-search.js'
import { makeGraph, type Network } from '../../support/make-graph.js'
import { networks, overlayOf, themes } from '../../support/random-network.js'
import { routeNow } from '../../support/routes.js'
import { throwsWith } from '../../support/throws.js'
import { at, town, unevenTown } from '../../support/town.js'

const SENSITIVITY = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]
const control = () => ({ maxSettledNodes: 1e9 })

/** Level 10 on the given segments in each slot. */
function timetableOf(graph: Graph, slots: { startMs: number; risky: number[] }[]): Timeline {
  const profiles = slots.map(({ risky }) => {
    const overlay = overlayOf(
      new Map(risky.map((segment) => [segment, [[graph.segmentLengthMm[segment]!, 10]]])),
    )
    return createProfile(graph, [{ overlay, sensitivity: SENSITIVITY }])
  })
  return { slotStartMs: slots.map(({ startMs }) => startMs), profileOf: (slot) => profiles[slot]! }
}

function placeOn(graph: Graph, segment: number, offsetMm: number): Snap {
  const end = endPoint(graph, segment, false)
  return { lng: 0, lat: 0, distanceM: 0, points: [{ ...end, segment, offsetMm }] }
}

t.test(
  'findTimedRoute: risk that ends before it is reached does not matter, risk that begins does',
  async (t) => {
    const graph = makeGraph(town(4))
    const from = placeOn(graph, 0, 1000)
    const to = placeOn(graph, 2, graph.segmentLengthMm[2]! - 1000)
    const linkMs = Math.round((graph.segmentLengthMm[0]! * 36) / 500)
    const edges = (slots: { startMs: number; risky: number[] }[]) =>
      routeNow(findTimedRoute(timetableOf(graph, slots), [from, to], control()))
        .legs.flat()
        .map((step) => step.link)
    t.same(edges([{ startMs: 0, risky: [1] }]).length, 5, 'around while it lasts')
    t.same(edges([{ startMs: 0, risky: [1] }, { startMs: linkMs / 2, risky: [] }]), [0, 2, 4]) // biome-ignore format: slots
    t.same(edges([{ startMs: 0, risky: [] }, { startMs: linkMs / 2, risky: [1] }]).length, 5) // biome-ignore format: slots
    t.same(edges([{ startMs: 0, risky: [] }, { startMs: linkMs * 10, risky: [1] }]), [0, 2, 4]) // biome-ignore format: slots
  },
)

t.test(
  'findTimedRoute: traffic does not turn round to a goal behind it, though risk ends soon',
  async (t) => {
    // three places on a line; the way back is dear in the slot of the departure alone
    const line: Network = {
      junctions: [10, 10.002, 10.004].map((lng) => [lng, 50] as [number, number]),
      roads: [
        { from: 0, to: 1, speed: [50, 50] },
        { from: 1, to: 2, speed: [50, 50] },
      ],
    }
    const linksOf = (network: Network) => {
      const graph = makeGraph(network)
      const ends = [placeOn(graph, 0, graph.segmentLengthMm[0]! - 1000), placeOn(graph, 0, 1000)]
      const slots = [{ startMs: 0, risky: [0] }, { startMs: 1, risky: [] }] // biome-ignore format: slots
      return routeNow(findTimedRoute(timetableOf(graph, slots), ends, control()))
        .legs.flat()
        .map(({ link }) => link)
    }
    t.same(linksOf(line), [0, 1], 'where it may')
    t.same(linksOf({ ...line, noUTurn: [0] }), [0, 2, 3, 1], 'round at the dead end')
  },
)

t.test('findTimedRoute: a via point is left when it is reached', async (t) => {
  const graph = makeGraph(town(4))
  const places = [
    placeOn(graph, 0, 0),
    placeOn(graph, 1, 70_000),
    placeOn(graph, 2, graph.segmentLengthMm[2]!),
  ]
  const linkMs = Math.round((graph.segmentLengthMm[0]! * 36) / 500)
  const timetable = timetableOf(graph, [
    { startMs: 0, risky: [] },
    { startMs: linkMs * 1.2, risky: [2] },
  ])
  const { legs } = routeNow(findTimedRoute(timetable, places, control()))
  t.same(
    legs[0]!.map((step) => step.link),
    [0, 2],
  )
  t.equal(
    legs[1]!.some((step) => step.link === 4),
    false,
    'the risk has begun by then',
  )
})

t.test('findTimedRoute: a slot begins with its first millisecond', async (t) => {
  const graph = makeGraph(town(4))
  const from = placeOn(graph, 0, 1000)
  const to = placeOn(graph, 2, graph.segmentLengthMm[2]! - 1000)
  const arriveMs = Math.round(((graph.segmentLengthMm[0]! - 1000) * 36) / 500)
  const linksWhen = (startMs: number) =>
    routeNow(
      findTimedRoute(
        timetableOf(graph, [
          { startMs: 0, risky: [] },
          { startMs, risky: [1] },
        ]),
        [from, to],
        control(),
      ),
    ).legs.flat().length
  t.equal(linksWhen(arriveMs), 5, 'around the risk that begins on arrival')
  t.equal(linksWhen(arriveMs + 1), 3, 'through before the risk begins')
})

t.test('findTimedRoute: a leg within one link takes its time too', async (t) => {
  const graph = makeGraph(town(4))
  const lengthMm = graph.segmentLengthMm[0]!
  const snaps = [placeOn(graph, 0, 0), placeOn(graph, 0, lengthMm - 1000), placeOn(graph, 2, 1000)]
  const timeline = timetableOf(graph, [
    { startMs: 0, risky: [] },
    { startMs: Math.round((lengthMm * 36) / 1000), risky: [1] },
  ])
  const { legs } = routeNow(findTimedRoute(timeline, snaps, control()))
  t.equal(legs[0]!.length, 1)
  t.notOk(
    legs[1]!.some((step) => step.link === 2),
    'the risk has begun by then',
  )
})

t.test('findTimedRoute: slots beyond the last one that is used are never read', async (t) => {
  const graph = makeGraph(town(4))
  const profile = createProfile(graph)
  const read = new Set<number>()
  const timeline: Timeline = {
    slotStartMs: Array.from({ length: 300 }, (_, slot) => slot * 10),
    profileOf(slot) {
      read.add(slot)
      return profile
    },
  }
  routeNow(findTimedRoute(timeline, [placeOn(graph, 0, 0), placeOn(graph, 11, 1000)], control()))
  t.equal(Math.max(...read), MAX_SLOTS - 1)
})

t.test('findTimedRoute: a blocked leg, CANCELLED and SEARCH_TOO_LARGE', async (t) => {
  const network = town(3)
  network.junctions.push(at(0, 3), at(1, 3))
  network.roads.push({ from: 9, to: 10, speed: [30, 30] })
  const graph = makeGraph(network)
  const timetable = timetableOf(graph, [{ startMs: 0, risky: [] }])
  const island = placeOn(graph, network.roads.length - 1, 10)
  t.same(runToEnd(findTimedRoute(timetable, [placeOn(graph, 0, 10), island], control())), { blockedLeg: 0 })
  const far = [placeOn(graph, 0, 10), placeOn(graph, 5, 10)]
  throwsWith(t, () => routeNow(findTimedRoute(timetable, far, { maxSettledNodes: 2 })), 'SEARCH_TOO_LARGE')
  const cancel = new Int32Array(new SharedArrayBuffer(4)).fill(1)
  throwsWith(t, () => routeNow(findTimedRoute(timetable, far, { maxSettledNodes: 2, cancel })), 'CANCELLED')
})

t.test('findTimedRoute: closed roads are not used', async (t) => {
  const graph = makeGraph(town(4))
  const closed = overlayOf(new Map([[1, [[graph.segmentLengthMm[1]!, 10]]]]))
  const profile = createProfile(graph, [], closed)
  const snaps = [placeOn(graph, 0, 1000), placeOn(graph, 2, graph.segmentLengthMm[2]! - 1000)]
  const links = routeNow(findTimedRoute({ slotStartMs: [0], profileOf: () => profile }, snaps, control()))
    .legs.flat()
    .map((step) => step.link)
  t.equal(links.length, 5, 'around the closed street')
  t.notOk(links.includes(2))
})

t.test(
  'findTimedRoute: a potential never hides a path that is cheaper by less than a thousandth',
  async (t) => {
    // 100,000 ms over junction 2, 100,050 ms over junction 1, which is close to the goal
    const lengths = [[4, 0, 10], [0, 1, 99_000], [1, 3, 1050], [0, 2, 1000], [2, 3, 99_000], [3, 5, 10]] as const // biome-ignore format: roads
    const graph = makeGraph({
      junctions: Array.from({ length: 6 }, (_, x) => at(x, 0)),
      roads: lengths.map(([from, to, ms]) => ({ from, to, speed: [36, 36], lengthMm: ms * 10 })),
    })
    const profile = createProfile(graph)
    const timeline: Timeline = {
      slotStartMs: [0],
      profileOf: () => profile,
      potentialTo: (targets) => potentialOf(graph, targets),
    }
    const { legs } = routeNow(
      findTimedRoute(timeline, [placeOn(graph, 0, 50), placeOn(graph, 5, 50)], control()),
    )
    t.same(
      legs.flat().map((step) => step.link >> 1),
      [0, 3, 4, 5],
    )
  },
)

t.test('property: a potential does not change the cost', async (t) => {
  const graph = makeGraph(unevenTown(5))
  const place = fc.nat(graph.segmentCount - 1)
  const slot = fc.record({ startMs: fc.integer({ min: 1, max: 60_000 }), risky: fc.array(place) })
  fc.assert(
    fc.property(fc.array(slot, { maxLength: 3 }), place, place, (later, a, b) => {
      const slots = [{ startMs: 0, risky: [] }, ...later.sort((x, y) => x.startMs - y.startMs)]
      const timeline = timetableOf(graph, slots)
      const snaps = [placeOn(graph, a, 1000), placeOn(graph, b, 2000)]
      const costOf = (guided: Timeline) => {
        const route = runToEnd(findTimedRoute(guided, snaps, control()))
        return 'blockedLeg' in route ? undefined : route.costMs
      }
      return (
        costOf(timeline) === costOf({ ...timeline, potentialTo: (targets) => potentialOf(graph, targets) })
      )
    }),
    { numRuns: 100 },
  )
  t.pass('100 timelines')
})

/** Returns the exact cost from each node to the targets without risk, by Bellman-Ford. */
function potentialOf(graph: Graph, targets: readonly End[]): (node: number) => number {
  const weights = freeWeights(graph)
  const costs = new Array<number>(graph.nodeCount).fill(Number.POSITIVE_INFINITY)
  for (const { node, costMs } of targets) costs[node] = Math.min(costs[node]!, costMs)
  for (let isBetter = true; isBetter; ) {
    isBetter = false
    for (let node = 0; node < graph.nodeCount; node++) {
      for (let arc = graph.firstOut[node]!; arc < graph.firstOut[node + 1]!; arc++) {
        const costMs = weights[arc]! + costs[graph.head[arc]!]!
        if (costMs >= costs[node]!) continue
        costs[node] = costMs
        isBetter = true
      }
    }
  }
  return (node) => costs[node]!
}

t.test(
  'property: under constant risk the cost equals that of findLeg, with any number of slots',
  async (t) => {
    const cases = networks().chain((network) => {
      const lengthMm = makeGraph(network).segmentLengthMm
      const ends = fc.tuple(fc.nat(1000), fc.nat(999), fc.nat(1000), fc.nat(999))
      return fc.tuple(fc.constant(network), themes([...lengthMm]), ends)
    })
    fc.assert(
      fc.property(cases, ([network, theme, [a, b, c, d]]) => {
        const graph = makeGraph(network)
        const profile = createProfile(graph, [
          { overlay: overlayOf(theme.pieces), sensitivity: theme.sensitivity },
        ])
        const point = (pick: number, part: number) => {
          const segment = pick % graph.segmentCount
          return placeOn(graph, segment, Math.round((part / 1000) * graph.segmentLengthMm[segment]!))
        }
        const [from, to] = [point(a, b), point(c, d)]
        const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
        const plain = findLeg(profile, search, endsOf(profile, from), endsOf(profile, to), control())
        const slotStartMs = [0, 50, 100, 1000, 5000, 100_000]
        const timetable = { slotStartMs, profileOf: () => profile }
        try {
          return routeNow(findTimedRoute(timetable, [from, to], control())).costMs === plain?.costMs
        } catch {
          return plain === undefined
        }
      }),
      { numRuns: 400 },
    )
    t.pass('400 networks')
  },
)

t.test('property: the cost is that of the route found, link by link at the times of entry', async (t) => {
  const graph = makeGraph(town(3))
  const risky = fc.array(fc.nat(graph.segmentCount - 1), { maxLength: 5 })
  const slots = fc
    .array(fc.record({ startMs: fc.integer({ min: 1, max: 60_000 }), risky }), { maxLength: 3 })
    .chain((later) =>
      risky.map((first) => [{ startMs: 0, risky: first }, ...later.sort((a, b) => a.startMs - b.startMs)]),
    )
  fc.assert(
    fc.property(slots, fc.nat(graph.segmentCount - 1), fc.nat(graph.segmentCount - 1), (timeline, a, b) => {
      const timetable = timetableOf(graph, timeline)
      const from = placeOn(graph, a, Math.round(graph.segmentLengthMm[a]! / 3))
      const to = placeOn(graph, b, Math.round(graph.segmentLengthMm[b]! / 2))
      const route = routeNow(findTimedRoute(timetable, [from, to], control()))
      let clockMs = 0
      let costMs = 0
      for (const step of route.legs.flat()) {
        const slot = timeline.findLastIndex(({ startMs }) => startMs <= clockMs)
        const isRisky = timeline[slot]!.risky.includes(step.link >> 1)
        const driveMs = Math.round((step.lengthMm * 36) / 500)
        if (step.maxLevel !== (isRisky ? 10 : 0)) return false
        costMs += Math.round((step.lengthMm * (isRisky ? 10 : 1) * 36) / 500)
        clockMs += driveMs
      }
      return costMs === route.costMs
    }),
    { numRuns: 400 },
  )
  t.pass('400 timelines')
})
