import { CONDITIONAL_ARC, CONDITIONAL_LINK, conditionsOf } from '../../routing/graph/conditions.js'
import type { Graph } from '../../routing/graph/graph.js'

/** Returns the sizes of a map, by the names that the CLI prints. */
export function countsOf(graph: Omit<Graph, 'fileBytes'>) {
  return {
    junctions: graph.junctionCount,
    segments: graph.segmentCount,
    nodes: graph.nodeCount,
    arcs: graph.arcCount,
  }
}

/** Describes what conditions change on a map. */
export function conditionsLine(graph: Graph): string {
  const found = conditionsOf(graph)
  if (found === undefined) return 'none: built without them'
  const roads = (graph.conditionalLinks?.length ?? 0) / CONDITIONAL_LINK
  const turns = (graph.conditionalArcs?.length ?? 0) / CONDITIONAL_ARC
  return `${group(found.conditions.length)} on ${group(roads)} links and ${group(turns)} arcs`
}

/** Formats a count with thousands separators: 1234567 → 1,234,567. */
export function group(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Formats bytes as megabytes with one decimal. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
