import FlatQueue from 'flatqueue'
import type { Graph } from '../graph/graph.js'
import type { Snap } from '../graph/snap.js'
import { costMs } from './cost.js'
import { type Control, type End, mustStop } from './dijkstra.js'
import { directLeg, endsOf, type LinkEnd, type Step, stepRange, stepsWithLength } from './leg.js'
import type { Potential } from './leg-search.js'
import { createProfile, freeWeights, type Profile } from './profile.js'
import { type BlockedLeg, type DrivenStep, measureStep, type Route, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'
import { createLabels, type Labels, offer } from './time-labels.js'

/** Profiles over time: consecutive slots, within each of which nothing changes. */
export interface Timeline {
  /**
   * slot → its begin, milliseconds of driving after the departure; the first is 0. At most `MAX_SLOTS` are
   * used
   */
  readonly slotStartMs: readonly number[]
  /** profile of a slot; called when a search reaches the slot for the first time */
  profileOf(slot: number): Profile
  /**
   * lower bound of the cost from a node to the targets, without risk; undefined = not available, slower
   * searches
   */
  potentialTo?(targets: readonly End[]): Potential | undefined
}

/** Most slots of a search, a label has one byte for them: the last one has no end. */
export const MAX_SLOTS = 200

/** Settled labels between two checks of the limits. */
const CHECK_EVERY = 4096

interface TimedLeg {
  readonly costMs: number
  readonly clockMs: number
  readonly steps: readonly DrivenStep[]
}

/** Cheapest path found so far, at the node where it enters its last link. */
interface Arrival {
  readonly costMs: number
  readonly label: number
  readonly target: LinkEnd
}

/** Search for one leg. */
interface TimedSearch {
  readonly timeline: Timeline
  readonly graph: Graph
  readonly labels: Labels
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
 * Finds a path through the points when each link costs what its risk is at the moment it is entered. The
 * clock runs at driving speed; waiting is not allowed. A slice is one leg.
 *
 * Exactness: paths that reach a node within the same slot are compared by cost alone, and of equal ones the
 * earlier wins; an expensive path that arrives before a change is kept beside a cheap one that arrives after
 * it. Each leg departs when the leg before it arrives. Under a risk that does not change the result is that
 * of `findRoute`. (Where waiting is not allowed, arriving later can be better. Comparing paths by cost and
 * time within a slot as well would need a label for each arrival time, of which a city has millions.)
 *
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* findTimedRoute(
  timeline: Timeline,
  snaps: readonly Snap[],
  control: Control,
): SlicedTask<Route | BlockedLeg> {
  const legs: (readonly DrivenStep[])[] = []
  let totalMs = 0
  let clockMs = 0
  for (let i = 0; i + 1 < snaps.length; i++) {
    const leg = findTimedLeg(timeline, snaps[i]!, snaps[i + 1]!, clockMs, control)
    throwIfStopped(control)
    if (leg === undefined) return { blockedLeg: i }
    legs.push(leg.steps)
    totalMs += leg.costMs
    clockMs = leg.clockMs
    yield
  }
  return { costMs: totalMs, legs }
}

function findTimedLeg(
  timeline: Timeline,
  from: Snap,
  to: Snap,
  departMs: number,
  control: Control,
): TimedLeg | undefined {
  const start = timeline.profileOf(slotAt(timeline, departMs))
  const { graph } = start
  const direct = directLeg(start, from, to)
  const sources = endsOf(start, from).sources
  // labels of this leg only: the clock of the next one begins where this one arrives
  const labels = createLabels(graph.nodeCount)
  // the direct leg is known, so the search only looks for cheaper paths
  const boundMs = direct?.costMs ?? Number.POSITIVE_INFINITY
  const search: TimedSearch = { timeline, graph, labels, sources, to, departMs, control, boundMs }
  const arrival = run(search)
  if (control.stoppedBy !== undefined) return undefined
  if (arrival === undefined) {
    if (direct === undefined) return undefined
    const steps = direct.steps.map((step) => measureStep(start, step))
    return { costMs: direct.costMs, clockMs: departMs + drivingMs(graph, steps), steps }
  }
  const driven = readSteps(search, arrival)
  return {
    costMs: arrival.costMs,
    clockMs: departMs + drivingMs(graph, driven),
    steps: stepsWithLength(graph, driven),
  }
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
function run(search: TimedSearch): Arrival | undefined {
  const { timeline, graph, labels, to, control } = search
  const { firstOut, head } = graph
  const drive = freeWeights(graph)
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
    const node = labels.node[label]!
    const cost = labels.costMs[label]!
    const slot = labels.slot[label]!
    const profile = timeline.profileOf(slot)
    // the last link is entered in this slot, so its cost follows the profile of the slot
    targets[slot] ??= endsOf(profile, to).targets
    for (const target of targets[slot]) {
      if (target.node !== node || cost + target.costMs >= bestMs) continue
      bestMs = cost + target.costMs
      arrival = { costMs: bestMs, label, target }
    }
    const clock = labels.clockMs[label]!
    const { weights } = profile
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      const weightMs = weights[arc]!
      if (weightMs < 0) continue // closed
      const next = head[arc]!
      const restMs = restOf(next)
      if (restMs === Number.POSITIVE_INFINITY) continue // no path from there to the goal
      // driving time does not depend on risk, so the clock and the cost are kept apart
      const nextClock = clock + drive[arc]!
      const nextSlot = slotAt(timeline, nextClock)
      offer(labels, queue, next, nextSlot, cost + weightMs, restMs, nextClock, arc, label)
    }
  }
  return arrival
}

/** Returns the share of the potential that orders the queue; 0 everywhere where there is none. */
function potentialOf({ timeline, graph, to }: TimedSearch): Potential {
  const potential = timeline.potentialTo?.(endsOf(createProfile(graph), to).targets)
  return potential === undefined ? () => 0 : (node) => potential(node) * POTENTIAL_SHARE
}

function offerSources(
  { timeline, graph, labels, sources, departMs }: TimedSearch,
  queue: FlatQueue<number>,
  restOf: Potential,
): void {
  sources.forEach((source, i) => {
    const clock = departMs + drivingMs(graph, [{ link: source.link, from: source.point, to: undefined }])
    const restMs = restOf(source.node)
    if (restMs === Number.POSITIVE_INFINITY) return
    offer(labels, queue, source.node, slotAt(timeline, clock), source.costMs, restMs, clock, ~i, -1)
  })
}

/** Follows the parents back; each step is measured in the slot in which it is entered. */
function readSteps(
  { timeline, graph, labels, sources, departMs }: TimedSearch,
  arrival: Arrival,
): DrivenStep[] {
  const profileAt = (label: number) => timeline.profileOf(labels.slot[label]!)
  const { link, point } = arrival.target
  const steps = [measureStep(profileAt(arrival.label), { link, from: undefined, to: point })]
  let label = arrival.label
  while (labels.parent[label]! >= 0) {
    const step: Step = { link: graph.arcLink[labels.arc[label]!]!, from: undefined, to: undefined }
    label = labels.parent[label]!
    steps.push(measureStep(profileAt(label), step))
  }
  const source = sources[~labels.arc[label]!]!
  // the first link is entered at the departure, whatever slot its end falls into
  const start = timeline.profileOf(slotAt(timeline, departMs))
  steps.push(measureStep(start, { link: source.link, from: source.point, to: undefined }))
  return steps.reverse()
}

/** Returns the slot that contains a moment. */
function slotAt({ slotStartMs }: Timeline, clockMs: number): number {
  // linear from the last slot: there are at most `MAX_SLOTS`
  let slot = Math.min(slotStartMs.length, MAX_SLOTS) - 1
  while (slot > 0 && slotStartMs[slot]! > clockMs) slot--
  return slot
}

/** Returns the driving time of steps, each rounded to whole milliseconds as free-flow weights are. */
function drivingMs(graph: Graph, steps: readonly Step[]): number {
  return steps.reduce((sum, step) => {
    const [fromMm, toMm] = stepRange(graph, step)
    return sum + costMs(toMm - fromMm, graph.linkSpeed[step.link]!)
  }, 0)
}
