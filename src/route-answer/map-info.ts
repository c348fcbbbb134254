import { type Graph, type NamedGraph, NO_ARC } from '../routing/graph/graph.js'
import { numberAt } from '../routing/graph/paged.js'
import type { Snap } from '../routing/graph/snap.js'
import { readString } from '../routing/graph/strings.js'
import { nearestNodeId, roundMetres } from './features.js'

/** Describes a map in wire names, for `routing.list_maps`. */
export function mapInfo({ name, graph }: NamedGraph): Record<string, unknown> {
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

/** Describes a snapped point in wire names, for `routing.nearest`. */
export function snapInfo({ name, graph }: NamedGraph, snap: Snap): Record<string, unknown> {
  const [first] = snap.points
  return {
    map: name,
    lonlat: [first!.lngE7 / 1e7, first!.latE7 / 1e7],
    distance: roundMetres(snap.distanceM),
    node: nearestNodeId(graph, snap.lng, snap.lat),
    edges: linksAt(graph, snap).map((link) => ({
      edge_id: link,
      speed: graph.linkSpeed[link]! / 10,
      name: readString(graph, numberAt(graph.segmentName, link >>> 1)),
    })),
    passed_over: passedOver(graph, snap),
  }
}

/** Describes where a point of a route was moved to, in wire names. */
export function endInfo(graph: Graph, snap: Snap): Record<string, unknown> {
  return { ...placeInfo(graph, snap), passed_over: passedOver(graph, snap) }
}

/** Returns the nearer road that was not used, and the reason; null when there is none. */
function passedOver(graph: Graph, { passedOver: nearer }: Snap): Record<string, unknown> | null {
  return nearer === undefined ? null : { ...placeInfo(graph, nearer), reason: 'cut_off' }
}

function placeInfo(graph: Graph, { points: [first], distanceM }: Snap): Record<string, unknown> {
  return {
    lonlat: [first!.lngE7 / 1e7, first!.latE7 / 1e7],
    distance: roundMetres(distanceM),
    name: readString(graph, numberAt(graph.segmentName, first!.segment)),
  }
}

/** Lists the links that may be driven from or to a point, ascending, each once. */
function linksAt(graph: Graph, snap: Snap): number[] {
  const segments = [...new Set(snap.points.map((point) => point.segment))]
  return segments.flatMap((segment) =>
    [segment * 2, segment * 2 + 1].filter((link) => graph.linkStartArc[link] !== NO_ARC),
  )
}

function countLinks(graph: Graph): number {
  return graph.linkStartArc.reduce((count, arc) => (arc === NO_ARC ? count : count + 1), 0)
}
