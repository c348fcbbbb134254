import type { Topology } from '../graph/topology.js'
import { beginRun, MARK_STRIDE, SEEN, SETTLED, type SearchState, TARGET } from './search-state.js'

/** Arc → cost, integral milliseconds ≥ 0; negative = closed. Float64 where a cost may exceed 2^31-1. */
export type Weights = Int32Array | Float64Array

/** A node where a search may begin or end, and what the way between it and the real end costs. */
export interface End {
  readonly node: number
  /** integral, ≥ 0 */
  readonly costMs: number
}

/** What bounds a search, and what ended the last one before its time. */
export interface Control {
  /** shared with the caller's thread: anything but 0 in element 0 stops the search */
  readonly cancel?: Int32Array | undefined
  /** most nodes that one search may settle */
  readonly maxSettledNodes: number
  stoppedBy?: 'cancel' | 'budget'
}

/** `Atomics.load` costs some 10 ns, 4096 settled nodes about 0.5 ms. */
const CHECK_EVERY = 4096

/**
 * Cheapest way from any of the sources to any of the targets, on flat arrays.
 *
 * Of equally cheap ways into a node the one that starts there wins, then the one whose last arc has the smaller number
 * (among those found before the node is settled, so that arcs of cost 0 close no circle of parents). Of equally cheap
 * targets the first wins.
 *
 * @param state left with the tree of this run: walk `parent` from the target's node
 * @param maxCostMs ways that cost more are not looked for
 * @returns position of the best target, -1 when there is none or the search was stopped (`control.stoppedBy`)
 * @see E. W. Dijkstra, "A note on two problems in connexion with graphs", 1959
 */
export function searchOne(
  topology: Topology,
  weights: Weights,
  state: SearchState,
  sources: readonly End[],
  targets: readonly End[],
  control: Control,
  maxCostMs = Number.POSITIVE_INFINITY,
): number {
  const base = beginRun(state)
  const unsettled = markTargets(state, base, targets)
  const boundMs = run(topology, weights, state, sources, targets, unsettled, control, maxCostMs)
  if (boundMs < 0) return -1
  return bestTarget(state, targets, maxCostMs)
}

/**
 * Cheapest ways from the sources to every target node at once.
 *
 * @param state left with the tree of this run: a target is reached when `isSettled`
 * @returns false when the search was stopped
 */
export function searchMany(
  topology: Topology,
  weights: Weights,
  state: SearchState,
  sources: readonly End[],
  targets: readonly End[],
  control: Control,
  maxCostMs = Number.POSITIVE_INFINITY,
): boolean {
  const base = beginRun(state)
  const unsettled = markTargets(state, base, targets)
  return run(topology, weights, state, sources, NO_ENDS, unsettled, control, maxCostMs) >= 0
}

const NO_ENDS: readonly End[] = []

/** @returns number of different nodes among the targets */
function markTargets(state: SearchState, base: number, targets: readonly End[]): number {
  let count = 0
  for (const target of targets) {
    if (state.mark[target.node] === base + TARGET) continue
    state.mark[target.node] = base + TARGET
    count++
  }
  return count
}

/**
 * The loop. Ends when the queue is empty, when every target node is settled, or when nothing below the bound is left.
 *
 * @param bounding targets whose total cost lowers the bound once their node is settled
 * @returns the bound at the end, -1 when stopped
 */
function run(
  topology: Topology,
  weights: Weights,
  state: SearchState,
  sources: readonly End[],
  bounding: readonly End[],
  unsettledTargets: number,
  control: Control,
  maxCostMs: number,
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
    if (nodeMark >= settled) continue // an older, dearer entry of the same node
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
      if (weightMs < 0) continue
      const next = head[arc]!
      const nextMs = nodeMs + weightMs
      const nextMark = mark[next]!
      if (nextMark >= seen) {
        const knownMs = costMs[next]!
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
      mark[next] = nextMark === base + TARGET ? seen + TARGET : seen
      costMs[next] = nextMs
      parent[next] = arc
      queue.push(next, nextMs)
    }
  }
  state.settledCount = settledCount
  return boundMs
}

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

/** Says why in `control.stoppedBy`. */
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
