// What all routes from one place must cost: the textbook algorithm over links, without bounds, read off at many ends.
import { type Graph, isBannedUTurn } from '../../src/routing/graph/graph.js'
import { drivenFrom, drivenTo, type LinkEnd } from '../../src/routing/search/link-ends.js'

/**
 * Returns a function that tells the cost of the cheapest path from any source to any of some targets, Infinity when
 * there is none. A path that turns round where traffic must not counts only where there is no other.
 *
 * @param prices arc → cost with the price of entering its link; negative = closed
 */
export function linkCosts(
  graph: Graph,
  prices: Float64Array,
  sources: readonly LinkEnd[],
): (targets: readonly LinkEnd[]) => number {
  const strict = settle(graph, prices, sources)
  let relaxed: Float64Array | undefined
  const free = { ...graph, linkFlags: new Uint8Array(graph.linkFlags.length) }
  return (targets) => {
    const strictMs = readOff(graph, strict, sources, targets)
    if (Number.isFinite(strictMs)) return strictMs
    relaxed ??= settle(free, prices, sources)
    return readOff(free, relaxed, sources, targets)
  }
}

/** Arc → cost of the cheapest path that ends with it. */
function settle(graph: Graph, prices: Float64Array, sources: readonly LinkEnd[]): Float64Array {
  const { arcCount, firstOut, head, arcLink } = graph
  const costs = new Float64Array(arcCount).fill(Number.POSITIVE_INFINITY)
  const heap: Heap = { cost: [], arc: [] }
  const leave = (node: number, driven: number, costMs: number) => {
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      const sumMs = costMs + prices[arc]!
      if (prices[arc]! < 0 || sumMs >= costs[arc]! || isBannedUTurn(graph, driven, arcLink[arc]!)) continue
      costs[arc] = sumMs
      push(heap, sumMs, arc)
    }
  }
  for (const source of sources) leave(source.node, drivenFrom(graph, source), source.costMs)
  while (heap.arc.length > 0) {
    const [costMs, arc] = pop(heap)
    if (costMs === costs[arc]) leave(head[arc]!, arcLink[arc]!, costMs)
  }
  return costs
}

function readOff(
  graph: Graph,
  costs: Float64Array,
  sources: readonly LinkEnd[],
  targets: readonly LinkEnd[],
): number {
  const { firstIn, arcs } = arrivals(graph)
  let best = Number.POSITIVE_INFINITY
  for (const target of targets) {
    const last = drivenTo(graph, target)
    for (const source of sources) {
      const isThere = source.node === target.node && !isBannedUTurn(graph, drivenFrom(graph, source), last)
      if (isThere) best = Math.min(best, source.costMs + target.costMs)
    }
    for (let at = firstIn[target.node]!; at < firstIn[target.node + 1]!; at++) {
      const arc = arcs[at]!
      if (!isBannedUTurn(graph, graph.arcLink[arc]!, last)) best = Math.min(best, costs[arc]! + target.costMs)
    }
  }
  return best
}

/** Node → the arcs that end there. */
function arrivals({ head, nodeCount, arcCount }: Graph): { firstIn: Uint32Array; arcs: Uint32Array } {
  const known = arrivalsOf.get(head)
  if (known !== undefined) return known
  const firstIn = new Uint32Array(nodeCount + 1)
  for (let arc = 0; arc < arcCount; arc++) firstIn[head[arc]! + 1]!++
  for (let node = 0; node < nodeCount; node++) firstIn[node + 1]! += firstIn[node]!
  const next = firstIn.slice()
  const arcs = new Uint32Array(arcCount)
  for (let arc = 0; arc < arcCount; arc++) arcs[next[head[arc]!]!++] = arc
  const made = { firstIn, arcs }
  arrivalsOf.set(head, made)
  return made
}

const arrivalsOf = new WeakMap<Uint32Array, { firstIn: Uint32Array; arcs: Uint32Array }>()

interface Heap {
  readonly cost: number[]
  readonly arc: number[]
}

function push({ cost, arc }: Heap, costMs: number, item: number): void {
  let at = cost.push(costMs) - 1
  arc.push(item)
  while (at > 0 && cost[(at - 1) >> 1]! > costMs) {
    const up = (at - 1) >> 1
    cost[at] = cost[up]!
    arc[at] = arc[up]!
    at = up
  }
  cost[at] = costMs
  arc[at] = item
}

function pop({ cost, arc }: Heap): [costMs: number, arc: number] {
  const top: [number, number] = [cost[0]!, arc[0]!]
  const [costMs, item] = [cost.pop()!, arc.pop()!]
  const size = cost.length
  if (size === 0) return top
  let at = 0
  for (let down = 1; down < size; down = at * 2 + 1) {
    if (down + 1 < size && cost[down + 1]! < cost[down]!) down++
    if (cost[down]! >= costMs) break
    cost[at] = cost[down]!
    arc[at] = arc[down]!
    at = down
  }
  cost[at] = costMs
  arc[at] = item
  return top
}
