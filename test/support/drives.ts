import { finish, startCustomisation } from '../../src/routing/cch/customise.js'
import { mapHierarchy } from '../../src/routing/cch/map-hierarchy.js'
import { createHierarchySearch } from '../../src/routing/cch/search.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { doubleAt } from '../../src/routing/graph/paged.js'
import { snap } from '../../src/routing/graph/snap.js'
import { createDijkstraSearch, type LegSearch } from '../../src/routing/search/leg-search.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { findRoute } from '../../src/routing/search/route.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { endsOf } from './osm-fixture.js'

/**
 * The route through some places of a sketch, as the letters it passes, found by both searches.
 *
 * @param places a letter, or two letters: the middle of the straight line between them
 * @returns undefined when a leg has no path
 */
export function drive(graph: Graph, ...places: string[]): string | undefined {
  const snaps = places.map((place) => {
    const [lng, lat] = placeOf(graph, place)
    return snap(graph, lng, lat, 50) ?? missing(place)
  })
  const found = searchesOf(graph).map((search) => {
    const route = runToEnd(
      findRoute({ profile: createProfile(graph), search, control: { maxSettledNodes: 1e9 } }, snaps),
    )
    return 'blockedLeg' in route ? undefined : lettersOf(graph, route.legs.flat())
  })
  if (found.some((letters) => letters !== found[0])) throw new Error(`searches differ: ${found}`)
  return found[0]
}

/** Letters of a chain of links; a link that is driven again after a stop inside it is written once. */
function lettersOf(graph: Graph, steps: readonly { link: number }[]): string {
  let letters = ''
  let last = -1
  for (const { link } of steps) {
    const [from, to] = endsOf(graph, link)
    if (link === last) continue
    letters += letters.endsWith(from) ? to : from + to
    last = link
  }
  return letters
}

function placeOf(graph: Graph, place: string): [number, number] {
  const spots = [...place].map((letter) => {
    const at = graph.junctionLngE7.findIndex(
      (_, junction) => doubleAt(graph.junctionOsmId, junction) === letter.charCodeAt(0),
    )
    if (at < 0) return missing(letter)
    return [(graph.junctionLngE7[at] ?? 0) / 1e7, (graph.junctionLatE7[at] ?? 0) / 1e7] as const
  })
  const mean = (axis: 0 | 1) => spots.reduce((sum, spot) => sum + spot[axis], 0) / spots.length
  return [mean(0), mean(1)]
}

function missing(place: string): never {
  throw new Error(`the map has no place ${place}`)
}

function searchesOf(graph: Graph): LegSearch[] {
  const { weights } = createProfile(graph)
  const hierarchy = mapHierarchy(graph)
  if (hierarchy === undefined) throw new Error('the map has no order')
  const metric = finish(startCustomisation(hierarchy, weights, 'int32'))
  const prepared = { roads: graph, hierarchy, weights, metric, widen: () => undefined }
  return [
    createDijkstraSearch(graph, weights, createSearchState(graph.nodeCount)),
    createHierarchySearch(prepared),
  ]
}
