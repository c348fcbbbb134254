import t from 'tap'
import type { ContourPolygon } from '../../../src/geo/contour.js'
import { snapPoint } from '../../../src/route-engine/locate.js'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { localScale } from '../../../src/routing/graph/local-scale.js'
import { searchMany } from '../../../src/routing/search/dijkstra.js'
import { findIsochrones } from '../../../src/routing/search/isochrone.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { endsOf } from '../../../src/routing/search/link-ends.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { createSearchState, isSettled } from '../../../src/routing/search/search-state.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { makeGraph } from '../../support/make-graph.js'
import { seeded } from '../../support/random-graph.js'
import { missingPorto, portoGraph } from '../../support/real-map.js'
import { throwsWith } from '../../support/throws.js'
import { at, town } from '../../support/town.js'

const LIMITS_MS = [120_000, 300_000, 720_000, 36_000_000]

t.test('Porto: areas hold every junction reached and no other', { skip: missingPorto }, async (t) => {
  const graph = await portoGraph()
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  const searcher = { profile, search, control: { maxSettledNodes: 1e9 } }
  const place = snapPoint({ name: 'porto', graph }, { role: 'lonlat', lng: -8.61, lat: 41.15 }, 1000)
  const state = createSearchState(graph.nodeCount)
  searchMany(
    { topology: graph, weights: profile.weights, state: state },
    endsOf(profile, place).sources,
    [],
    { maxSettledNodes: 1e9 },
  )
  const reachedMs = junctionCosts(graph, (node) => (isSettled(state, node) ? state.costMs[node]! : Infinity))
  for (const [i, { polygons, junctionCount }] of runToEnd(
    findIsochrones(searcher, place, LIMITS_MS),
  ).entries()) {
    const limitMs = LIMITS_MS[i]!
    const reached = reachedMs.map((ms) => ms <= limitMs)
    t.equal(junctionCount, reached.filter(Boolean).length)
    t.ok(junctionCount > 10, `${junctionCount} junctions within ${limitMs} ms`)
    const isInside = insideTest(polygons, graph)
    // an area cannot separate nodes with equal coordinates
    const reachedAt = new Set(
      reached.flatMap((isReached, junction) => (isReached ? [siteOf(graph, junction)] : [])),
    )
    let wrong = 0
    for (let junction = 0; junction < graph.junctionCount; junction++) {
      const isReached = reachedAt.has(siteOf(graph, junction))
      if (isInside(graph.junctionLngE7[junction]! / 1e7, graph.junctionLatE7[junction]! / 1e7) !== isReached)
        wrong++
    }
    t.equal(wrong, 0)
  }
})

/** A town with places 1.5 km and 5 km beyond it, and one more junction at the coordinates of a crossing. */
function surroundedTown(): Graph {
  const network = town(5)
  const far: [number, number][] = [at(2, 11), at(2, 12), at(14, 2), at(15, 2), at(2, 40), at(2, 41)]
  const first = network.junctions.length
  network.junctions.push(...far, at(4, 4))
  for (let i = 0; i < far.length; i += 2)
    network.roads.push({ from: first + i, to: first + i + 1, speed: [50, 50] })
  return makeGraph(network)
}

t.test('findIsochrones: areas hold every junction reached and no other, within 300 m of one', async (t) => {
  const graph = surroundedTown()
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  const searcher = { profile, search, control: { maxSettledNodes: 1e9 } }
  const place = snapPoint(
    { name: 'town', graph },
    { role: 'lonlat', lng: at(2, 2)[0], lat: at(2, 2)[1] },
    1000,
  )
  const state = createSearchState(graph.nodeCount)
  const roads = { topology: graph, weights: profile.weights, state }
  searchMany(roads, endsOf(profile, place).sources, [], { maxSettledNodes: 1e9 })
  const costs = junctionCosts(graph, (node) => (isSettled(state, node) ? state.costMs[node]! : Infinity))
  costs[12] = 0 // crossing (2, 2), where the search begins
  const ringMs = costs[13]!
  const limits = [0, ringMs - 1, ringMs, ringMs * 2 + 1, 1e9]
  const { lngM, latM } = localScale(at(2, 2)[1] * 1e7)
  for (const [i, { polygons, junctionCount }] of runToEnd(
    findIsochrones(searcher, place, limits),
  ).entries()) {
    const reached = [...costs.keys()].filter((junction) => costs[junction]! <= limits[i]!)
    t.equal(junctionCount, reached.length)
    const sites = new Set(reached.map((junction) => siteOf(graph, junction)))
    const isInside = insideTest(polygons, graph)
    for (let junction = 0; junction < graph.junctionCount; junction++) {
      const [lng, lat] = [graph.junctionLngE7[junction]! / 1e7, graph.junctionLatE7[junction]! / 1e7]
      t.equal(isInside(lng, lat), sites.has(siteOf(graph, junction)), `junction ${junction}, ${limits[i]} ms`)
    }
    for (const [x, y] of polygons.flat(2)) {
      const distancesM = reached.map((junction) =>
        Math.hypot(
          (x * 1e7 - graph.junctionLngE7[junction]!) * lngM,
          (y * 1e7 - graph.junctionLatE7[junction]!) * latM,
        ),
      )
      t.ok(Math.min(...distancesM) < 301, `a corner ${Math.min(...distancesM)} m from a junction`)
    }
  }
  t.equal(costs.filter((ms) => ms <= 1e9).length, 25, 'the streets beyond the town cannot be reached')
})

t.test('findIsochrones: the area of a limit does not depend on the other limits', async (t) => {
  const random = seeded(5)
  // villages some 10 km from one another: what lies between them decides where an area ends
  const junctions = Array.from({ length: 40 }, () => [10 + random(), 50 + random()] as [number, number])
  const roads = junctions
    .slice(1)
    .map((_, i) => ({ from: i, to: i + 1, speed: [50, 50] as [number, number] }))
  const graph = makeGraph({ junctions, roads, restrictions: [] })
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  const searcher = { profile, search, control: { maxSettledNodes: 1e9 } }
  const [lng = 0, lat = 0] = junctions[20] ?? []
  const place = snapPoint({ name: 'villages', graph }, { role: 'lonlat', lng, lat }, 1000)
  const limits = [4_000_000, 9_000_000, 16_000_000, 1e9]
  const together = runToEnd(findIsochrones(searcher, place, limits))
  for (const [i, limitMs] of limits.entries())
    t.same(runToEnd(findIsochrones(searcher, place, [limitMs])), [together[i]], `${limitMs} ms`)
})

t.test('findIsochrones: an area farther out than its town has is empty; SEARCH_TOO_LARGE', async (t) => {
  const graph = surroundedTown()
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  // in the middle of a street: within 0 ms no junction is reached
  const place = snapPoint(
    { name: 'town', graph },
    { role: 'lonlat', lng: at(2.5, 2)[0], lat: at(2, 2)[1] },
    1000,
  )
  const none = runToEnd(findIsochrones({ profile, search, control: { maxSettledNodes: 1e9 } }, place, [0]))
  t.same(none, [{ junctionCount: 0, polygons: [] }])
  const task = findIsochrones({ profile, search, control: { maxSettledNodes: 1e9 } }, place, [0, 1, 2])
  let slices = 0
  while (task.next().done !== true) slices++
  t.equal(slices, 3, 'a pause before each area is drawn')
  throwsWith(
    t,
    () => runToEnd(findIsochrones({ profile, search, control: { maxSettledNodes: 3 } }, place, [1e9])),
    'SEARCH_TOO_LARGE',
  )
})

t.test(
  'findIsochrones: the junction that the point lies on is reached, also where no road leads to it',
  async (t) => {
    for (const [speed, isHead] of [
      [[50, 0], false],
      [[0, 50], true],
    ] as [[number, number], boolean][]) {
      // biome-ignore format: cases
      const graph = makeGraph({ junctions: [at(0, 0), at(1, 0)], roads: [{ from: 0, to: 1, speed }] })
      const profile = createProfile(graph)
      const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
      const [lng, lat] = at(isHead ? 1 : 0, 0)
      const place = snapPoint({ name: 'road', graph }, { role: 'lonlat', lng, lat }, 1000)
      const searcher = { profile, search, control: { maxSettledNodes: 1e9 } }
      const [near, far] = runToEnd(findIsochrones(searcher, place, [0, 1e9]))
      t.same([near?.junctionCount, far?.junctionCount], [1, 2])
    }
  },
)

function siteOf({ junctionLngE7, junctionLatE7 }: Graph, junction: number): string {
  return `${junctionLngE7[junction]} ${junctionLatE7[junction]}`
}

function junctionCosts(graph: Graph, costOf: (node: number) => number): number[] {
  const costs: number[] = new Array(graph.junctionCount).fill(Number.POSITIVE_INFINITY)
  for (let node = 0; node < graph.nodeCount; node++) {
    const junction = graph.nodeJunction[node]!
    costs[junction] = Math.min(costs[junction]!, costOf(node))
  }
  return costs
}

/** Even-odd over all rings; edges are sorted into bands of latitude. */
function insideTest(polygons: readonly ContourPolygon[], { meta }: Graph): (x: number, y: number) => boolean {
  const [, south, , north] = meta.bbox
  const bands: [number, number, number, number][][] = Array.from({ length: 2000 }, () => [])
  const bandOf = (y: number) =>
    Math.min(1999, Math.max(0, Math.floor(((y - south) / (north - south)) * 2000)))
  for (const ring of polygons.flat()) {
    for (const [i, [bx, by]] of ring.slice(1).entries()) {
      const [ax, ay] = ring[i]!
      for (let band = bandOf(Math.min(ay, by)); band <= bandOf(Math.max(ay, by)); band++) {
        bands[band]!.push([ax, ay, bx, by])
      }
    }
  }
  return (x, y) => {
    let inside = false
    for (const [ax, ay, bx, by] of bands[bandOf(y)]!) {
      if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) inside = !inside
    }
    return inside
  }
}
