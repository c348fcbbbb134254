import FlatQueue from 'flatqueue'
import { isBannedUTurn } from '../graph/graph.js'
import { type Control, mustStop } from './dijkstra.js'
import type { NodePath, Potential } from './leg-search.js'
import { drivenFrom, drivenTo, type SnapEnds } from './link-ends.js'
import type { Profile } from './profile.js'

/** Input of an exact search. */
interface ExactSearch {
  readonly profile: Profile
  /** lower bound of the cost from a node to the targets */
  readonly potential: Potential
  readonly from: SnapEnds
  readonly to: SnapEnds
  readonly control: Control
  /** more expensive paths are not searched for */
  readonly maxCostMs?: number | undefined
}

/** A link that was driven: the arc, or `~position` of the source. */
type LinkState = number

interface Label {
  readonly costMs: number
  readonly before: LinkState | undefined
  isSettled: boolean
}

/** Settled states between two checks of the limits. */
const CHECK_EVERY = 4096

/**
 * Finds the cheapest path without a U-turn where traffic must not turn round.
 *
 * Nodes of the graph do not tell by which link a route arrives, except near turn rules. So this search settles
 * links instead of nodes, guided by the costs of the graph, in which such U-turns are free: A*. Those costs
 * are exact wherever no U-turn pays, so few links beside the path are settled.
 *
 * @returns undefined when there is no path, or when the search was stopped (`control.stoppedBy`)
 * @see P. Hart, N. Nilsson, B. Raphael, "A formal basis for the heuristic determination of minimum cost
 *   paths", 1968
 */
export function findExactPath(search: ExactSearch): NodePath | undefined {
  const { from, to, control } = search
  const { graph, weights } = search.profile
  const { firstOut, head, arcLink } = graph
  const labels = new Map<LinkState, Label>()
  const queue = new FlatQueue<LinkState>()
  const targetsAt = groupByNode(to)
  let best: { state: LinkState; target: number } | undefined
  // exclusive, and costs are integral
  let boundMs = (search.maxCostMs ?? Number.POSITIVE_INFINITY) + 1
  let settledCount = 0
  for (const [i, { node, costMs }] of from.sources.entries()) {
    offer(search, labels, queue, { state: ~i, node, costMs, before: undefined })
  }
  while (queue.length > 0 && queue.peekValue()! < boundMs) {
    const state = queue.pop()!
    const label = labels.get(state)!
    // no test: the potential is consistent, so the first path to a link is the cheapest, and offered once
    if (label.isSettled) continue
    label.isSettled = true
    if (++settledCount % CHECK_EVERY === 0 && mustStop(control, settledCount)) return undefined
    const source = from.sources[~state]
    const node = source === undefined ? head[state]! : source.node
    const link = source === undefined ? arcLink[state]! : drivenFrom(graph, source)
    for (const i of targetsAt.get(node) ?? []) {
      const target = to.targets[i]!
      const totalMs = label.costMs + target.costMs
      if (totalMs >= boundMs || isBannedUTurn(graph, link, drivenTo(graph, target))) continue
      boundMs = totalMs
      best = { state, target: i }
    }
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const weightMs = weights[arc]!
      if (weightMs < 0 || isBannedUTurn(graph, link, arcLink[arc]!)) continue
      const costMs = label.costMs + weightMs
      offer(search, labels, queue, { state: arc, node: head[arc]!, costMs, before: state })
    }
  }
  return best && readPath(labels, best.state, best.target, boundMs)
}

/** Relaxes a path that ends by driving a link. */
function offer(
  { potential }: ExactSearch,
  labels: Map<LinkState, Label>,
  queue: FlatQueue<LinkState>,
  { state, node, costMs, before }: { state: LinkState; node: number } & Pick<Label, 'costMs' | 'before'>,
): void {
  const known = labels.get(state)
  if (known !== undefined && known.costMs <= costMs) return
  const restMs = potential(node)
  if (restMs === Number.POSITIVE_INFINITY) return
  labels.set(state, { costMs, before, isSettled: false })
  queue.push(state, costMs + restMs)
}

/** Node → positions of its targets. */
function groupByNode({ targets }: SnapEnds): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (const [i, { node }] of targets.entries()) {
    const known = found.get(node)
    if (known === undefined) found.set(node, [i])
    else known.push(i)
  }
  return found
}

/** Follows the labels back from the last link to a source. */
function readPath(
  labels: ReadonlyMap<LinkState, Label>,
  last: LinkState,
  target: number,
  costMs: number,
): NodePath {
  const arcs: number[] = []
  let state = last
  while (state >= 0) {
    arcs.push(state)
    state = labels.get(state)!.before!
  }
  return { costMs, source: ~state, target, arcs: arcs.reverse() }
}
