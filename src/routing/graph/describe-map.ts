import { nearestNodeId, roundMetres } from '../../route-answer/answer.js'
import { type Graph, NO_ARC } from './graph.js'
import type { NamedGraph } from './places.js'
import type { Place } from './snap.js'
import { readString } from './strings.js'

/** What `routing.list_maps` says of a map, wire names. */
export function describeMap({ name, graph }: NamedGraph): Record<string, unknown> {
  const { meta } = graph
  const { file, sha256, osmTimestamp } = meta.builtFrom
  return {
    name,
    profile: meta.profile,
    area: meta.area,
    bbox: meta.bbox,
    nodes: graph.junctionCount,
    arcs: countLinks(graph),
    built_from: { file, sha256, osm_timestamp: osmTimestamp },
    attribution: meta.attribution,
    licence: meta.licence,
  }
}

/** What `routing.nearest` says of a place, wire names. */
export function describePlace({ name, graph }: NamedGraph, place: Place): Record<string, unknown> {
  const [first] = place.positions
  return {
    map: name,
    lonlat: [first!.lngE7 / 1e7, first!.latE7 / 1e7],
    distance: roundMetres(place.distanceM),
    node: nearestNodeId(graph, place.lng, place.lat),
    edges: linksAt(graph, place).map((link) => ({
      edge_id: link,
      speed: graph.linkSpeed[link]! / 10,
      name: readString(graph, graph.segmentName[link >>> 1]!),
    })),
  }
}

/** Links that may be driven from or to a place, ascending, each once. */
function linksAt(graph: Graph, place: Place): number[] {
  const segments = [...new Set(place.positions.map((position) => position.segment))]
  return segments.flatMap((segment) =>
    [segment * 2, segment * 2 + 1].filter((link) => graph.linkStartArc[link] !== NO_ARC),
  )
}

function countLinks(graph: Graph): number {
  return graph.linkStartArc.reduce((count, arc) => (arc === NO_ARC ? count : count + 1), 0)
}
