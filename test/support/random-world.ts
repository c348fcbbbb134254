import { buildHierarchy } from '../../src/routing/cch/hierarchy.js'
import { KINDS } from '../../src/routing/cch/metric.js'
import { coordinatesOf, rankNodes } from '../../src/routing/cch/order.js'
import { prepareNow } from '../../src/routing/cch/prepared.js'
import { createHierarchySearch } from '../../src/routing/cch/search.js'
import { endPoint } from '../../src/routing/graph/geometry.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import type { Snap } from '../../src/routing/graph/snap.js'
import { createDijkstraSearch, type LegSearch } from '../../src/routing/search/leg-search.js'
import { createProfile, type Profile } from '../../src/routing/search/profile.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import type { Network } from './make-graph.js'
import type { Spot, Theme, World } from './oracle.js'
import { overlayOf } from './random-network.js'

/** A network with lengths, risk and closed parts, as the oracle reads them. */
export function worldOf(network: Network, graph: Graph, risk: Theme[], closed: [number, number][]): World {
  const lengthMm = [...graph.segmentLengthMm]
  return {
    network,
    lengthMm,
    themes: risk,
    closed: new Map(
      closed.flatMap(([pick, part]): [number, [number, number][]][] => {
        const segment = pick % lengthMm.length
        const endMm = Math.round((part / 1000) * lengthMm[segment]!)
        return endMm > 0 ? [[segment, [[0, endMm]]]] : []
      }),
    ),
  }
}

/** The same risk and closed parts as the search reads them. */
export function profileOf(graph: Graph, world: World): Profile {
  const closed = new Map<number, [number, number][]>()
  for (const [segment, [part]] of world.closed ?? []) {
    const endMm = part![1]
    const lengthMm = world.lengthMm[segment]!
    closed.set(segment, endMm === lengthMm ? [[endMm, 10]] : [[endMm, 10], [lengthMm, 0]]) // biome-ignore format: pairs
  }
  const risks = world.themes.map((theme) => ({
    overlay: overlayOf(theme.pieces),
    sensitivity: theme.sensitivity,
  }))
  return createProfile(graph, risks, closed.size > 0 ? overlayOf(closed) : undefined)
}

/** A place on a road, from two picks. */
export function spotOf(graph: Graph, [pick, part]: [number, number]): Spot {
  const segment = pick % graph.segmentCount
  return { segment, offsetMm: Math.round((part / 1000) * graph.segmentLengthMm[segment]!) }
}

/** Both layers, the second with each kind of costs. */
export function searchesOf({ graph, weights }: Profile): LegSearch[] {
  const hierarchy = buildHierarchy(graph, rankNodes(graph, coordinatesOf(graph, graph.meta.bbox)))
  return [
    createDijkstraSearch(graph, weights, createSearchState(graph.nodeCount)),
    ...KINDS.map((kind) => createHierarchySearch(prepareNow({ roads: graph, hierarchy, weights }, kind))),
  ]
}

/** A spot as a snapped point. */
export function placeAt(graph: Graph, spot: Spot): Snap {
  const end = endPoint(graph, spot.segment, false)
  return {
    lng: 0,
    lat: 0,
    distanceM: 0,
    points: [{ ...end, segment: spot.segment, offsetMm: spot.offsetMm }],
  }
}
