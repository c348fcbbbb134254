import type { Topology } from '../graph/topology.js'
import { beginRun, MARK_STRIDE, SEEN, SETTLED, type SearchState, TARGET } from './search-state.js'

/**
 * Arc → cost, integral milliseconds ≥ 0; negative = closed. Float64Array where a cost may exceed 2^31 - 1.
 */
export type Weights = Int32Array | Float64Array

/**
 * A node where a search may begin or end, with the cost between it and the real end, a point inside a link.
 */
export interface End {
  readonly node: number
  /** integral, ≥ 0 */
  readonly costMs: number
}

/** Limits of a search, and the limit that stopped it. */
export interface Control {
  /** shared with the caller's thread: a value other than 0 in element 0 stops the search */
  readonly cancel?: Int32Array | undefined
  /** most nodes that one search may settle */
  readonly maxSettledNodes: number
  stoppedBy?: 'cancel' | 'budget'
}

/** Roads with their weights, and the scratch of searches on them. */
interface WeightedRoads {
  readonly topology: Topology
  /** arc → cost, milliseconds */
  readonly weights: Weights
  /** of `createSearchState(topology.nodeCount)`; one search at a time */
  readonly state: SearchState
}

/** Settled nodes between two checks: `Atomics.load` costs some 10 ns, settling 4096 nodes about 0.5 ms. */
const CHECK_EVERY = 4096

/**
 * Finds the cheapest path from any of the sources to any of the targets, on flat arrays. About 120 ns a
 * settled node.
 *
 * Of equally cheap paths to a node, one that starts there wins, then the one whose last arc has the smaller
 * number (among those found before the node is settled, so that arcs of cost 0 close no circle of parents).
 * Of equally cheap targets the first wins.
 *
 * @param roads whose `state` holds the tree of this run afterwards: follow `parent` from the target's node
 * @param maxCostMs more expensive paths are not searched for
 * @returns position of the best target, -1 when there is none or the search was stopped (`control.stoppedBy`)
 * @see E. W. Dijkstra, "A note on two problems in connexion with graphs", 1959
 */
export function searchOne(
  roads: WeightedRoads,
  sources: readonly End[],
  targets: readonly End[],
  control: Control,
  maxCostMs = Number.POSITIVE_INFINITY,
): number {
  const unsettledTargets = begin(roads.state, targets)
  const boundMs = run(roads, { sources, bounding: targets, unsettledTargets, control, maxCostMs })
  return boundMs < 0 ? -1 : bestTarget(roads.state, targets, maxCostMs)
}

/**
 * Finds the cheapest paths from the sources to every target node; to all nodes when there are no targets.
 *
 * @param roads whose `state` holds the tree of this run afterwards: a target is reached when `isSettled`
 * @param maxCostMs nodes that cost more are not settled
 * @returns false when the search was stopped (`control.stoppedBy`)
 */
export function searchMany(
  roads: WeightedRoads,
  sources: readonly End[],
  targets: readonly End[],
  control: Control,
  maxCostMs = Number.POSITIVE_INFINITY,
): boolean {
  const unsettledTargets = begin(roads.state, targets)
  return run(roads, { sources, bounding: NO_ENDS, unsettledTargets, control, maxCostMs }) >= 0
}

const NO_ENDS: readonly End[] = []

/** Begins a run and marks the target nodes. @returns number of different nodes among the targets */
function begin(state: SearchState, targets: readonly End[]): number {
  const base = beginRun(state)
  let count = 0
  for (const target of targets) {
    if (state.mark[target.node] === base + TARGET) continue
    state.mark[target.node] = base + TARGET
    count++
  }
  return count
}

/** Input of one run of the loop. */
interface Run {
  readonly sources: readonly End[]
  /** targets whose total cost lowers the bound once their node is settled */
  readonly bounding: readonly End[]
  /** different nodes among all targets; the loop ends when they are settled. 0 = settle everything */
  readonly unsettledTargets: number
  readonly control: Control
  readonly maxCostMs: number
}

/**
 * The loop. Ends when the queue is empty, when every target node is settled, or when nothing below the bound
 * is left.
 *
 * A node may be in the queue several times: an entry whose node is settled is outdated and skipped. Entries
 * leave the queue in ascending cost, so the first entry of a node that leaves it has the node's final cost.
 *
 * @returns the bound at the end, milliseconds; -1 when stopped
 */
function run(
  { topology, weights, state }: WeightedRoads,
  { sources, bounding, unsettledTargets, control, maxCostMs }: Run,
): number {
  const { firstOut, head } = topology
  const { costMs, parent, mark, queue } = state
  const base = state.run * MARK_STRIDE
  const seen = base + SEEN
  const settled = base + SETTLED
  let boundMs = maxCostMs
  let remaining = unsettledTargets
  let settledCount = 0
  let checkAt = Math.min(CHECK_EVERY, control.maxSettledNodes)

  seed(state, base, sources, maxCostMs)
  while (queue.length > 0) {
    const nodeMs = queue.peekValue()!
    const node = queue.pop()!
    const nodeMark = mark[node]!
    if (nodeMark >= settled) continue // outdated: the node was settled at a lower cost
    if (nodeMs > boundMs) break
    mark[node] = nodeMark | SETTLED
    settledCount++
    if ((nodeMark & TARGET) !== 0) {
      remaining--
      for (let i = 0; i < bounding.length; i++) {
        const target = bounding[i]!
        if (target.node === node && nodeMs + target.costMs < boundMs) boundMs = nodeMs + target.costMs
      }
      if (remaining === 0) break
    }
    if (settledCount >= checkAt) {
      if (mustStop(control, settledCount)) {
        boundMs = -1
        break
      }
      checkAt = Math.min(checkAt + CHECK_EVERY, control.maxSettledNodes)
    }
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const weightMs = weights[arc]!
      if (weightMs < 0) continue // closed
      const next = head[arc]!
      const nextMs = nodeMs + weightMs
      const nextMark = mark[next]!
      if (nextMark >= seen) {
        const knownMs = costMs[next]!
        // settled nodes keep their parent, also where the cost is equal: see `searchOne` on circles
        if (nextMs > knownMs || nextMark >= settled) continue
        if (nextMs === knownMs) {
          if (arc < parent[next]!) parent[next] = arc
          continue
        }
        costMs[next] = nextMs
        parent[next] = arc
        queue.push(next, nextMs)
        continue
      }
      mark[next] = nextMark === base + TARGET ? seen + TARGET : seen // the target bit is kept
      costMs[next] = nextMs
      parent[next] = arc
      queue.push(next, nextMs)
    }
  }
  // kept in a local variable during the loop, written once
  state.settledCount = settledCount
  return boundMs
}

/** Puts the sources into the queue; of several at one node the cheapest wins, the first among equals. */
function seed(state: SearchState, base: number, sources: readonly End[], maxCostMs: number): void {
  const { costMs, parent, mark, queue } = state
  for (let i = 0; i < sources.length; i++) {
    const { node, costMs: sourceMs } = sources[i]!
    if (sourceMs > maxCostMs) continue
    const isSeen = mark[node]! >= base + SEEN
    if (isSeen && sourceMs >= costMs[node]!) continue
    mark[node] = Math.max(mark[node]!, base) | SEEN
    costMs[node] = sourceMs
    parent[node] = ~i
    queue.push(node, sourceMs)
  }
}

/**
 * Checks the limits of a search.
 *
 * @returns true when the search must stop; the limit reached is in `control.stoppedBy` then
 */
export function mustStop(control: Control, settledCount: number): boolean {
  const { cancel, maxSettledNodes } = control
  if (cancel !== undefined && Atomics.load(cancel, 0) !== 0) control.stoppedBy = 'cancel'
  else if (settledCount >= maxSettledNodes) control.stoppedBy = 'budget'
  return control.stoppedBy !== undefined
}

/** @returns position of the cheapest settled target, -1 when none */
function bestTarget(state: SearchState, targets: readonly End[], maxCostMs: number): number {
  const settled = state.run * MARK_STRIDE + SETTLED
  let best = -1
  let bestMs = maxCostMs
  for (let i = 0; i < targets.length; i++) {
    const { node, costMs } = targets[i]!
    if (state.mark[node]! < settled) continue
    const totalMs = state.costMs[node]! + costMs
    if (totalMs > bestMs || (totalMs === bestMs && best >= 0)) continue
    best = i
    bestMs = totalMs
  }
  return best
}
