import type { End } from '../search/dijkstra.js'
import type { Potential } from '../search/leg-search.js'
import { isDoubtful, kernelsOf } from './customise.js'
import { depthOf } from './hierarchy.js'
import type { Prepared } from './prepared.js'
import { followEnds, highestEnd, highestOf } from './table.js'
import { ROOT } from './tree.js'

const UNKNOWN = -1

/**
 * Creates a function that returns the cost from a node to the nearest of some targets. Costs are computed
 * when they are asked for, for the node and all ranks above it, and kept: 8 bytes a node of the graph.
 *
 * The cheapest path from a node goes up to a higher rank first, so the costs of these must be known before;
 * all of them lie on the node's path to the root.
 *
 * @returns exact costs under the weights, Infinity = no path; undefined where the metric may lack some of them
 * @see B. Strasser, T. Zeitz, "A fast and tight heuristic for A* in road networks", 2021
 */
export function createPotential(
  { hierarchy: h, metric, weights }: Pick<Prepared, 'hierarchy' | 'metric' | 'weights'>,
  targets: readonly End[],
): Potential | undefined {
  const { first, headDepth, parent } = h
  const { up } = metric
  const kernels = kernelsOf(metric.kind)
  const rows = followEnds(h, kernels, metric.down, targets)
  const highestMs = () => Math.max(highestOf(kernels, rows), highestEnd(targets))
  if (isDoubtful(metric, weights, highestMs)) return undefined
  // rank → cost; final once set, because a rank is computed after all ranks above it
  const cost = new Float64Array(h.nodeCount).fill(UNKNOWN)
  const down = new Map<number, number>() // rank → cost of the cheapest path that only goes down
  for (const row of rows) {
    for (const [depth, rank] of row.rank.entries()) {
      const labelMs = row.labels[depth]!
      if (labelMs < (down.get(rank) ?? kernels.infinite)) down.set(rank, labelMs)
    }
  }
  const path = new Int32Array(h.depthCount) // depth → rank; valid down to depth `known`
  let known = -1

  /**
   * Writes the path of a rank to the root, as far as it differs from the last one. @returns depth of the rank
   */
  const follow = (end: number): number => {
    const endDepth = depthOf(h, end)
    let depth = endDepth
    for (let v = end; v !== ROOT && !(depth <= known && path[depth] === v); v = parent[v]!) path[depth--] = v
    known = endDepth
    return endDepth
  }

  return (node) => {
    const end = h.rank[node]!
    if (cost[end] === UNKNOWN) {
      const endDepth = follow(end)
      let depth = endDepth
      // known ranks form the upper part of the path, so the rest is computed from there down
      while (depth > 0 && cost[path[depth - 1]!] === UNKNOWN) depth--
      for (; depth <= endDepth; depth++) {
        const v = path[depth]!
        let best = down.get(v) ?? Number.POSITIVE_INFINITY
        for (let arc = first[v]!, stop = first[v + 1]!; arc < stop; arc++) {
          // sums are doubles, so they may exceed what the metric represents
          if (up[arc]! < kernels.infinite) best = Math.min(best, up[arc]! + cost[path[headDepth[arc]!]!]!)
        }
        cost[v] = best
      }
    }
    return cost[end]!
  }
}
