// Areas that are reached, and what is wrong with them.
import { snapPoint } from '../../src/route-engine/locate.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { findIsochrones, type Isochrone } from '../../src/routing/search/isochrone.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import type { Profile } from '../../src/routing/search/profile.js'
import type { AreaPolygon } from '../../src/routing/search/road-area.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { nearestOf, roadSamples } from './reached-samples.js'

/** Roads that are reached lie inside by this much; no point of an area is farther from one of them than that. */
const [INSIDE_M, FARTHEST_M] = [10, 250]

export function searcherOn(profile: Profile, maxSettledNodes = 1e9) {
  const search = createDijkstraSearch(
    profile.graph,
    profile.weights,
    createSearchState(profile.graph.nodeCount),
  )
  return { profile, search, control: { maxSettledNodes } }
}

export const placeOn = (graph: Graph, [lng, lat]: [number, number]) =>
  snapPoint({ name: 'map', graph }, { role: 'lonlat', lng, lat }, 1000)

export function isochronesOf(
  profile: Profile,
  lonlat: [number, number],
  limitsMs: readonly number[],
): Isochrone[] {
  return runToEnd(findIsochrones(searcherOn(profile), placeOn(profile.graph, lonlat), limitsMs))
}

/** Compares an area with the cost of a route to every place on a road. */
export function faultsOfArea(
  profile: Profile,
  lonlat: [number, number],
  limitMs: number,
  isochrone: Isochrone,
) {
  const { graph } = profile
  const samples = roadSamples(profile, placeOn(graph, lonlat), 20).filter(({ isFerry }) => !isFerry)
  const reached = samples.filter(({ costMs }) => costMs <= limitMs)
  const distanceOf = nearestOf(reached, graph, FARTHEST_M)
  const isInside = insideTest(isochrone.polygons, graph)
  const corners = isochrone.polygons.flat(2)
  const border = nearestOf(
    corners.map(([lng, lat]) => ({ lng, lat })),
    graph,
    INSIDE_M,
  )
  return {
    reached: reached.length,
    missing: reached.filter(({ lng, lat }) => !isInside(lng, lat)).length,
    onBorder: reached.filter(({ lng, lat }) => border(lng, lat) < INSIDE_M).length,
    farOut: samples.filter(
      ({ lng, lat, costMs }) => costMs > limitMs && isInside(lng, lat) && distanceOf(lng, lat) > FARTHEST_M,
    ).length,
    // a sample lies within 10 m of each reached place
    farCorners: corners.filter(([lng, lat]) => distanceOf(lng, lat) > FARTHEST_M).length,
  }
}

export const FINE = { missing: 0, onBorder: 0, farOut: 0, farCorners: 0 }

/** Even-odd over all rings; edges are sorted into bands of latitude. */
export function insideTest(
  polygons: readonly AreaPolygon[],
  { meta }: Graph,
): (x: number, y: number) => boolean {
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
