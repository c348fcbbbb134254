import t from 'tap'
import type { ContourPolygon } from '../../../src/geo/contour.js'
import { snapPoint } from '../../../src/route-engine/locate.js'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { searchMany } from '../../../src/routing/search/dijkstra.js'
import { findIsochrones } from '../../../src/routing/search/isochrone.js'
import { endsOf } from '../../../src/routing/search/leg.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { createSearchState, isSettled } from '../../../src/routing/search/search-state.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { missingPorto, portoGraph } from '../../support/real-map.js'

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
