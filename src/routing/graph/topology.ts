import type { Graph } from './graph.js'

/** The part of a graph that searches between nodes need. */
export type Topology = Pick<Graph, 'nodeCount' | 'arcCount' | 'firstOut' | 'head'>

/**
 * Returns the node that an arc leaves. It is not stored: a binary search in `firstOut` for the few arcs of a
 * path is cheaper than four bytes an arc.
 */
export function arcTail(topology: Pick<Topology, 'firstOut' | 'nodeCount'>, arc: number): number {
  const { firstOut, nodeCount } = topology
  let low = 0
  let high = nodeCount - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (firstOut[middle]! <= arc) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns the segment of a link. */
export function segmentOf(link: number): number {
  return link >>> 1
}

/** Returns true when a link runs from its segment's head to its tail. */
export function isBackward(link: number): boolean {
  return (link & 1) === 1
}
