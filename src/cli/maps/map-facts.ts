import type { Graph } from '../../routing/graph/graph.js'

/** Returns the sizes of a map, by the names that the CLI prints. */
export function countsOf(graph: Omit<Graph, 'buffer'>) {
  return {
    junctions: graph.junctionCount,
    segments: graph.segmentCount,
    nodes: graph.nodeCount,
    arcs: graph.arcCount,
  }
}

/** Formats a count with thousands separators: 1234567 → 1,234,567. */
export function group(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Formats bytes as megabytes with one decimal. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
