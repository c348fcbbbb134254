import { type Graph, isBannedUTurn } from '../../src/routing/graph/graph.js'
import { drivenFrom, drivenTo, type LinkEnd } from '../../src/routing/search/link-ends.js'

/**
 * Cost of the cheapest path from any source to any target, Infinity when none: the textbook algorithm with a
 * heap of its own. It settles links instead of nodes, so that it tells where a path turns round.
 *
 * @param costOf arc → cost with the price of entering its link; negative or infinite = closed
 */
export function linkDijkstra(
  graph: Graph,
  costOf: (arc: number) => number,
  sources: readonly LinkEnd[],
  targets: readonly LinkEnd[],
): number {
  const strictMs = search(graph, costOf, sources, targets)
  if (Number.isFinite(strictMs)) return strictMs
  // where there is no other way, traffic turns round
  return search({ ...graph, linkFlags: new Uint8Array(graph.linkFlags.length) }, costOf, sources, targets)
}

function search(
  graph: Graph,
  costOf: (arc: number) => number,
  sources: readonly LinkEnd[],
  targets: readonly LinkEnd[],
): number {
  const { arcCount, firstOut, head, arcLink } = graph
  const isSettled = new Uint8Array(arcCount)
  const lastOf = targetsByNode(targets)
  const heap: Item[] = []
  let best = Number.POSITIVE_INFINITY
  const leave = (node: number, driven: number, cost: number) => {
    for (const target of lastOf.get(node) ?? []) {
      if (!isBannedUTurn(graph, driven, drivenTo(graph, target))) best = Math.min(best, cost + target.costMs)
    }
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      if (isSettled[arc] === 1 || isBannedUTurn(graph, driven, arcLink[arc]!)) continue
      const arcMs = costOf(arc)
      if (arcMs >= 0 && arcMs < Number.POSITIVE_INFINITY) push(heap, [cost + arcMs, arc])
    }
  }
  for (const source of sources) leave(source.node, drivenFrom(graph, source), source.costMs)
  while (heap.length > 0) {
    const [cost, arc] = pop(heap)
    if (cost >= best) break
    if (isSettled[arc] === 1) continue
    isSettled[arc] = 1
    leave(head[arc]!, arcLink[arc]!, cost)
  }
  return best
}

type Item = [cost: number, arc: number]

function targetsByNode(targets: readonly LinkEnd[]): Map<number, LinkEnd[]> {
  const found = new Map<number, LinkEnd[]>()
  for (const target of targets) found.set(target.node, [...(found.get(target.node) ?? []), target])
  return found
}

function push(heap: Item[], item: Item): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const up = (at - 1) >> 1
    if (heap[up]![0] <= item[0]) break
    heap[at] = heap[up]!
    at = up
  }
  heap[at] = item
}

function pop(heap: Item[]): Item {
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
