import FlatQueue from 'flatqueue'
import { type Graph, isBannedUTurn } from '../graph/graph.js'
import { type Control, mustStop } from './dijkstra.js'
import { drivenFrom, NO_LINK, type SnapEnds } from './link-ends.js'
import type { Profile } from './profile.js'
import { throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'

/** Settled arrivals between two pauses, and two checks of the limits. */
const CHECK_EVERY = 4096
/** Nodes between two pauses where nothing else is done. */
const SLICE = 1 << 15

/**
 * Corrects the costs from a point to all nodes, where cheapest paths turn round though traffic must not.
 *
 * Such a path pays only where turning round leads to another turn state of the junction before, and then the
 * costs of three nodes fit together. In a city some places behind turn restrictions are reached so. Cost: 1 ms to
 * look for them; a search of the roads within the limit, 60 ms for a city, where there are some. Slices of some
 * milliseconds.
 *
 * @param nodeMs node → cost, where U-turns are free, Infinity = no path; corrected in place
 * @param maxCostMs costs above it may stay as they are
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* correctReach(
  profile: Profile,
  from: SnapEnds,
  nodeMs: Float64Array,
  control: Control,
  maxCostMs: number,
): SlicedTask<void> {
  const uTurns = yield* uTurnsOf(profile.graph)
  if (!hasUTurn(profile, from, nodeMs, uTurns, maxCostMs)) return
  const exactMs = yield* searchExact(profile, from, nodeMs, control, maxCostMs)
  const { nodeJunction, junctionCount } = profile.graph
  // a junction that no other way reaches keeps the cost of turning round
  const isReached = new Uint8Array(junctionCount)
  for (let node = 0; node < exactMs.length; node++)
    if (exactMs[node] !== Number.POSITIVE_INFINITY) isReached[nodeJunction[node]!] = 1
  yield
  for (let node = 0; node < exactMs.length; node++)
    if (isReached[nodeJunction[node]!] === 1) nodeMs[node] = exactMs[node]!
}

/** Pairs of arcs, one after the other, that turn round where traffic must not, and come to another node. */
const uTurnsOfGraph = new WeakMap<Graph, Uint32Array>()

/** Lists those pairs; once a graph. */
function* uTurnsOf(graph: Graph): SlicedTask<Uint32Array> {
  const known = uTurnsOfGraph.get(graph)
  if (known !== undefined) return known
  const { nodeCount, firstOut, head, arcLink } = graph
  const pairs: number[] = []
  for (let tail = 0; tail < nodeCount; tail++) {
    if (tail % SLICE === SLICE - 1) yield
    for (let arc = firstOut[tail]!; arc < firstOut[tail + 1]!; arc++) {
      const node = head[arc]!
      for (let back = firstOut[node]!; back < firstOut[node + 1]!; back++) {
        if (head[back] !== tail && isBannedUTurn(graph, arcLink[arc]!, arcLink[back]!))
          pairs.push(tail, arc, back)
      }
    }
  }
  const found = Uint32Array.from(pairs)
  uTurnsOfGraph.set(graph, found)
  return found
}

/** Returns true when a cheapest path may turn round where traffic must not. */
function hasUTurn(
  { graph, weights }: Profile,
  from: SnapEnds,
  nodeMs: Float64Array,
  uTurns: Uint32Array,
  maxCostMs: number,
): boolean {
  const { head, firstOut, arcLink } = graph
  const leads = (fromMs: number, arc: number) =>
    weights[arc]! >= 0 && fromMs + weights[arc]! === nodeMs[head[arc]!]
  for (let i = 0; i < uTurns.length; i += 3) {
    const [tail, arc, back] = [uTurns[i]!, uTurns[i + 1]!, uTurns[i + 2]!]
    if (nodeMs[tail]! > maxCostMs || !leads(nodeMs[tail]!, arc)) continue
    if (leads(nodeMs[head[arc]!]!, back)) return true
  }
  return from.sources.some((source) => {
    const { node, costMs } = source
    const link = drivenFrom(graph, source)
    if (link === NO_LINK || costMs !== nodeMs[node]) return false
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++)
      if (isBannedUTurn(graph, link, arcLink[arc]!) && leads(costMs, arc)) return true
    return false
  })
}

/**
 * Computes the costs without forbidden U-turns, Infinity = no path, by a search that settles a node twice: by its
 * cheapest link, and by the cheapest other one, which may turn round into the first.
 *
 * @param boundMs node → lower bound of its cost
 */
function* searchExact(
  { graph, weights }: Profile,
  { sources }: SnapEnds,
  boundMs: Float64Array,
  control: Control,
  maxCostMs: number,
): SlicedTask<Float64Array> {
  const { nodeCount, firstOut, head, arcLink } = graph
  const exactMs = new Float64Array(nodeCount).fill(Number.POSITIVE_INFINITY)
  // node → link of its cheapest arrival, and whether its arcs have all been relaxed
  const firstLink = new Int32Array(nodeCount)
  const isDone = new Uint8Array(nodeCount)
  // nodes that may cost no more than the limit: when all are settled, the rest is of no interest
  let open = boundMs.reduce((count, ms) => (ms <= maxCostMs ? count + 1 : count), 0)
  const queue = new FlatQueue<number>() // arcs, and `~position` of a source
  for (const [i, { costMs }] of sources.entries()) queue.push(~i, costMs)
  for (let settled = 1; queue.length > 0 && open > 0; settled++) {
    if (settled % CHECK_EVERY === 0) {
      mustStop(control, settled)
      throwIfStopped(control)
      yield
    }
    const costMs = queue.peekValue()!
    const state = queue.pop()!
    const source = sources[~state]
    const node = source === undefined ? head[state]! : source.node
    const link = source === undefined ? arcLink[state]! : drivenFrom(graph, source)
    const isFirst = exactMs[node] === Number.POSITIVE_INFINITY
    if (isDone[node] === 1 || (!isFirst && firstLink[node] === link)) continue
    // a second arrival only adds what the first one was not allowed
    let isComplete = true
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      if (weights[arc]! < 0) continue
      if (
        isFirst
          ? isBannedUTurn(graph, link, arcLink[arc]!)
          : !isBannedUTurn(graph, firstLink[node]!, arcLink[arc]!)
      ) {
        if (isFirst) isComplete = false
        continue
      }
      queue.push(arc, costMs + weights[arc]!)
    }
    if (isFirst) {
      exactMs[node] = costMs
      firstLink[node] = link
      if (boundMs[node]! <= maxCostMs) open--
    }
    if (!isFirst || isComplete) isDone[node] = 1
  }
  return exactMs
}
