import type { Topology } from '../../src/routing/graph/topology.js'
import type { End } from '../../src/routing/search/dijkstra.js'

/**
 * Cost of the cheapest path from any source to any target: the textbook algorithm with its own heap. Infinity
 * when none.
 */
export function plainDijkstra(
  { nodeCount, firstOut, head }: Topology,
  costOf: (arc: number) => number,
  sources: readonly End[],
  targets: readonly End[],
): number {
  const known = new Array<number>(nodeCount).fill(Number.POSITIVE_INFINITY)
  const heap: [cost: number, node: number][] = []
  for (const { node, costMs } of sources) push(heap, [costMs, node])
  while (heap.length > 0) {
    const [cost, node] = pop(heap)
    if (cost >= known[node]!) continue
    known[node] = cost
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      const next = cost + costOf(arc)
      if (next < known[head[arc]!]!) push(heap, [next, head[arc]!])
    }
  }
  return Math.min(...targets.map(({ node, costMs }) => known[node]! + costMs))
}

function push(heap: [number, number][], item: [number, number]): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const up = (at - 1) >> 1
    if (heap[up]![0] <= item[0]) break
    heap[at] = heap[up]!
    at = up
  }
  heap[at] = item
}

function pop(heap: [number, number][]): [number, number] {
  const top = heap[0]!
  const item = heap.pop()!
  if (heap.length === 0) return top
  let at = 0
  for (;;) {
    let down = at * 2 + 1
    if (down >= heap.length) break
    if (down + 1 < heap.length && heap[down + 1]![0] < heap[down]![0]) down++
    if (heap[down]![0] >= item[0]) break
    heap[at] = heap[down]!
    at = down
  }
  heap[at] = item
  return top
}
