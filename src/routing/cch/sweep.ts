import type { End } from '../search/dijkstra.js'
import { depthOf, type Hierarchy } from './hierarchy.js'
import type { Kernels, Metric, Values } from './metric.js'
import { ROOT } from './tree.js'

/**
 * Computes the costs from the nearest source to every node of the graph in one downward pass over the
 * hierarchy: 1.3 ms for a city of 236,000 arcs.
 *
 * @returns rank → cost, milliseconds; `kernels.infinite` = no path
 * @see D. Delling, A. Goldberg, A. Nowatzyk, R. Werneck, "PHAST: hardware-accelerated shortest path trees",
 *   2011
 */
export function costsToAll(h: Hierarchy, kernels: Kernels, metric: Metric, sources: readonly End[]): Values {
  const labels = kernels.createValues(h.nodeCount)
  labels.fill(kernels.infinite)
  for (const { node, costMs } of sources) {
    const rank = h.rank[node]!
    if (costMs < labels[rank]!) labels[rank] = costMs
  }
  for (const { node } of sources) climbAll(h, kernels, metric, labels, h.rank[node]!)
  kernels.descend(h, metric, labels)
  return labels
}

/**
 * Relaxes the path of one source to the root; it includes the labels that earlier sources have left on it.
 */
function climbAll(h: Hierarchy, kernels: Kernels, metric: Metric, labels: Values, end: number): void {
  const length = depthOf(h, end) + 1
  const rank = new Int32Array(length)
  const costs = kernels.createValues(length)
  for (let v = end, depth = length - 1; v !== ROOT; v = h.parent[v]!, depth--) {
    rank[depth] = v
    costs[depth] = labels[v]!
  }
  kernels.climbOne(h, metric.up, rank, costs, new Int32Array(length))
  for (let depth = 0; depth < length; depth++) labels[rank[depth]!] = costs[depth]!
}
