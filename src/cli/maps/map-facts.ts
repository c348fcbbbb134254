import type { Graph } from '../../routing/graph/graph.js'

/** Sizes of a map, by the words that people are told them in. */
export function countsOf(graph: Omit<Graph, 'buffer'>) {
  return {
    junctions: graph.junctionCount,
    segments: graph.segmentCount,
    nodes: graph.nodeCount,
    arcs: graph.arcCount,
  }
}

/** 1234567 → 1,234,567 */
export function group(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
