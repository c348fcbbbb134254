import type { Topology } from '../graph/topology.js'

/**
 * The undirected simple graph of a road graph: without directions, parallel arcs and loops. Orders depend on
 * it alone.
 */
export interface Neighbours {
  readonly nodeCount: number
  /** node → its first neighbour in `node`; `nodeCount + 1` entries */
  readonly first: Uint32Array
  /** neighbours of each node, ascending, each once */
  readonly node: Uint32Array
}

/** Computes the undirected simple graph. 8 bytes an arc while it runs, and as much in the result. */
export function neighboursOf({ nodeCount, firstOut, head }: Topology): Neighbours {
  const both = bothWays(nodeCount, firstOut, head)
  return sorted(nodeCount, both)
}

/** Lists each arc at both of its ends, unsorted, with parallels. */
function bothWays(nodeCount: number, firstOut: Uint32Array, head: Uint32Array) {
  // counts are kept one place behind, so that their prefix sums are the first positions
  const first = new Uint32Array(nodeCount + 1)
  for (let tail = 0; tail < nodeCount; tail++) {
    for (let arc = firstOut[tail]!, end = firstOut[tail + 1]!; arc < end; arc++) {
      const next = head[arc]!
      // loops do not affect an elimination order
      if (next === tail) continue
      first[tail + 1]!++
      first[next + 1]!++
    }
  }
  for (let node = 0; node < nodeCount; node++) first[node + 1]! += first[node]!
  const node = new Uint32Array(first[nodeCount]!)
  const free = first.slice()
  for (let tail = 0; tail < nodeCount; tail++) {
    for (let arc = firstOut[tail]!, end = firstOut[tail + 1]!; arc < end; arc++) {
      const next = head[arc]!
      if (next === tail) continue
      node[free[tail]!++] = next
      node[free[next]!++] = tail
    }
  }
  return { first, node }
}

/**
 * Sorts all lists by transposing them once, and removes duplicates, which are adjacent then. O(nodes + arcs):
 * lists are read in ascending order of `from`, so each list receives its entries in that order.
 */
function sorted(
  nodeCount: number,
  both: { readonly first: Uint32Array; readonly node: Uint32Array },
): Neighbours {
  const list = new Uint32Array(both.node.length)
  const end = both.first.slice()
  for (let from = 0; from < nodeCount; from++) {
    for (let at = both.first[from]!, stop = both.first[from + 1]!; at < stop; at++) {
      const to = both.node[at]!
      const last = end[to]!
      if (last > both.first[to]! && list[last - 1] === from) continue // a parallel arc
      list[last] = from
      end[to] = last + 1
    }
  }
  const first = new Uint32Array(nodeCount + 1)
  let count = 0
  for (let node = 0; node < nodeCount; node++) {
    const begin = both.first[node]!
    const stop = end[node]!
    // moves left only: `count` never exceeds `begin`, because duplicates were left out
    list.copyWithin(count, begin, stop)
    count += stop - begin
    first[node + 1] = count
  }
  return { nodeCount, first, node: list.slice(0, count) }
}
