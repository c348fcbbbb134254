import FlatQueue from 'flatqueue'
import { type Graph, isBannedUTurn } from '../graph/graph.js'
import type { Snap } from '../graph/snap.js'
import { costMs } from './cost.js'
import { type Control, type End, mustStop } from './dijkstra.js'
import { firstStep, type Step, stepRange } from './leg.js'
import type { Potential } from './leg-search.js'
import { drivenFrom, drivenTo, endsOf, type LinkEnd, NO_LINK } from './link-ends.js'
import { createProfile, freeWeights, type Profile } from './profile.js'
import { type Labels, offer } from './time-labels.js'

/** Profiles over time: consecutive slots, within each of which nothing changes. */
export interface Timeline {
  /**
   * slot → its begin, milliseconds of driving after the departure; the first is 0. At most `MAX_SLOTS` are
   * used
   */
  readonly slotStartMs: readonly number[]
  /** profile of a slot; called when a search reaches the slot for the first time */
  profileOf(slot: number): Profile
  /** graph on which no road costs more than in any slot; undefined = that of the departure */
  readonly fastest?: Graph | undefined
  /**
   * lower bound of the cost from a node to the targets, without risk, on the fastest graph; undefined = not available, slower
   * searches
   */
  potentialTo?(targets: readonly End[]): Potential | undefined
}

/** Most slots of a search, a label has one byte for them: the last one has no end. */
export const MAX_SLOTS = 200

/** Settled labels between two checks of the limits. */
const CHECK_EVERY = 4096

/** Cheapest path found so far, at the node where it enters its last link. */
export interface Arrival {
  readonly costMs: number
  readonly label: number
  readonly target: LinkEnd
}

/** Search for one leg. */
export interface TimedSearch {
  readonly timeline: Timeline
  readonly graph: Graph
  readonly labels: Labels
  /**
   * true: labels belong to links, so that U-turns can be refused; false: to nodes, which are fewer
   */
  readonly isByLink: boolean
  /** ends at the start, under the profile of the departure */
  readonly sources: readonly LinkEnd[]
  readonly to: Snap
  /** milliseconds after the departure of the route */
  readonly departMs: number
  readonly control: Control
  /** paths of this cost and above are not wanted */
  readonly boundMs: number
}

/**
 * Share of the potential that orders the queue. With all of it, arcs along a cheapest path would have reduced
 * cost 0, and labels could be settled before all equally cheap paths to them are known. With this share they
 * are settled in the order of plain Dijkstra; all products are exact in binary.
 */
const POTENTIAL_SHARE = 1023 / 1024

/**
 * Settles labels in ascending order of cost plus potential, until nothing cheaper than the best arrival is
 * left (A*).
 *
 * @returns undefined when no path costs less than `boundMs`, or when stopped
 * @see P. Hart, N. Nilsson, B. Raphael, "A formal basis for the heuristic determination of minimum cost
 *   paths", 1968
 */
export function runTimed(search: TimedSearch): Arrival | undefined {
  const { timeline, graph, labels, to, control, isByLink } = search
  const { firstOut, head, arcLink } = graph
  const queue = new FlatQueue<number>()
  const targets: (readonly LinkEnd[] | undefined)[] = [] // slot → ends at the goal
  const restOf = potentialOf(search)
  let arrival: Arrival | undefined
  let bestMs = search.boundMs
  let settledCount = 0
  offerSources(search, queue, restOf)
  while (queue.length > 0) {
    // cost of the label plus its share of the potential: a lower bound for every path through it
    const leastMs = queue.peekValue()!
    const label = queue.pop()!
    // outdated: the label was pushed again at a lower cost
    if (labels.isSettled[label] === 1) continue
    if (leastMs >= bestMs) break
    labels.isSettled[label] = 1
    settledCount++
    if (
      (settledCount % CHECK_EVERY === 0 || settledCount >= control.maxSettledNodes) &&
      mustStop(control, settledCount)
    ) {
      return undefined
    }
    const { node, link } = placeOf(search, label)
    const cost = labels.costMs[label]!
    const slot = labels.slot[label]!
    const profile = timeline.profileOf(slot)
    // the last link is entered in this slot, so its cost follows the profile of the slot
    targets[slot] ??= endsOf(profile, to).targets
    for (const target of targets[slot]) {
      if (target.node !== node || cost + target.costMs >= bestMs) continue
      if (isBannedUTurn(graph, link, drivenTo(graph, target))) continue
      bestMs = cost + target.costMs
      arrival = { costMs: bestMs, label, target }
    }
    const clock = labels.clockMs[label]!
    const { weights } = profile
    const drive = freeWeights(profile.graph)
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const weightMs = weights[arc]!
      if (weightMs < 0) continue // closed
      if (isBannedUTurn(graph, link, arcLink[arc]!)) continue
      const restMs = restOf(head[arc]!)
      if (restMs === Number.POSITIVE_INFINITY) continue // no path from there to the goal
      // driving time does not depend on risk, so the clock and the cost are kept apart
      const nextClock = clock + drive[arc]!
      const nextSlot = slotAt(timeline, nextClock)
      const next = isByLink ? arc : head[arc]!
      offer(labels, queue, next, nextSlot, cost + weightMs, restMs, nextClock, arc, label)
    }
  }
  return arrival
}

/** Returns the node of a label, and the link by which it was reached, `NO_LINK` where labels belong to nodes. */
function placeOf(
  { graph, labels, sources, isByLink }: TimedSearch,
  label: number,
): { node: number; link: number } {
  const place = labels.place[label]!
  if (!isByLink) return { node: place, link: NO_LINK }
  if (place < graph.arcCount) return { node: graph.head[place]!, link: graph.arcLink[place]! }
  const source = sources[place - graph.arcCount]!
  return { node: source.node, link: drivenFrom(graph, source) }
}

/** Returns the share of the potential that orders the queue; 0 everywhere where there is none. */
function potentialOf({ timeline, graph, to }: TimedSearch): Potential {
  const potential = timeline.potentialTo?.(endsOf(createProfile(timeline.fastest ?? graph), to).targets)
  return potential === undefined ? () => 0 : (node) => potential(node) * POTENTIAL_SHARE
}

function offerSources(
  { timeline, graph, labels, isByLink, sources, departMs }: TimedSearch,
  queue: FlatQueue<number>,
  restOf: Potential,
): void {
  sources.forEach((source, i) => {
    const speed = graph.linkSpeed[source.link]!
    const clock = departMs + drivingMs(graph, [{ ...firstStep(source), speed }])
    const restMs = restOf(source.node)
    if (restMs === Number.POSITIVE_INFINITY) return
    const place = isByLink ? graph.arcCount + i : source.node
    offer(labels, queue, place, slotAt(timeline, clock), source.costMs, restMs, clock, ~i, -1)
  })
}

/** Returns the slot that contains a moment. */
export function slotAt({ slotStartMs }: Timeline, clockMs: number): number {
  // linear from the last slot: there are at most `MAX_SLOTS`
  let slot = Math.min(slotStartMs.length, MAX_SLOTS) - 1
  while (slot > 0 && slotStartMs[slot]! > clockMs) slot--
  return slot
}

/** Returns the driving time of steps, each rounded to whole milliseconds as free-flow weights are. */
export function drivingMs(graph: Graph, steps: readonly (Step & { readonly speed: number })[]): number {
  return steps.reduce((sum, step) => {
    const [fromMm, toMm] = stepRange(graph, step)
    return sum + costMs(toMm - fromMm, step.speed) + step.turnMs
  }, 0)
}
