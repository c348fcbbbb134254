import FlatQueue from 'flatqueue'
import type { Potential } from '../cch/potential.js'
import type { Graph } from '../graph/graph.js'
import type { AskedPoint } from '../graph/places.js'
import type { Place } from '../graph/snap.js'
import { costMs } from './cost.js'
import { type Control, type End, mustStop } from './dijkstra.js'
import { directLeg, endsOf, type LinkEnd, type Step, stepRange, stepsWithLength } from './leg.js'
import { createProfile, freeWeights, type Profile } from './profile.js'
import { type DrivenStep, measureStep, noLeg, type Route } from './route.js'
import { runAtOnce, type Sliced } from './sliced.js'
import { createLabels, type Labels, offer } from './time-labels.js'

/** Risk over time: slots one after another, within each of which nothing changes. */
export interface Timetable {
  /** slot → when it begins, milliseconds of driving after the departure; the first is 0. At most `MAX_SLOTS`. */
  readonly slotStartMs: readonly number[]
  /** prices of a slot; asked for once the search gets there */
  profileOf(slot: number): Profile
  /** node → what the rest of the way to a target costs without risk; undefined = not known, and the search looks all around */
  boundTo?(targets: readonly End[]): Potential | undefined
}

/** More slots are not told apart: the last one holds on. */
export const MAX_SLOTS = 200

const CHECK_EVERY = 4096

interface TimedLeg {
  readonly costMs: number
  readonly clockMs: number
  readonly steps: readonly DrivenStep[]
}

/** Where the cheapest way found so far enters its last link. */
interface Arrival {
  readonly costMs: number
  readonly label: number
  readonly target: LinkEnd
}

/**
 * Way through the places when each link costs what its risk is at the moment it is entered. The clock runs at driving
 * speed; waiting is not allowed.
 *
 * What is exact: ways that reach a node within the same slot are compared by cost alone, and of equal ones the earlier
 * wins; a dear way that arrives before a change is kept beside a cheap one that arrives after it. Legs follow one
 * another: each departs when the one before arrives. Under a risk that does not change this is `findRoute`.
 * (Where waiting is not allowed, arriving later can be better. To compare ways by cost and time both within a slot
 * too would need a label for each arrival time, of which a city has millions.)
 *
 * @throws AppError NO_ROUTE, CANCELLED, SEARCH_TOO_LARGE
 */
export function findTimedRoute(
  timetable: Timetable,
  places: readonly Place[],
  points: readonly AskedPoint[],
  control: Control,
): Route {
  return runAtOnce(findTimedRouteSliced(timetable, places, points, control))
}

/** The same, a leg a slice. */
export function* findTimedRouteSliced(
  timetable: Timetable,
  places: readonly Place[],
  points: readonly AskedPoint[],
  control: Control,
): Sliced<Route> {
  const legs: (readonly DrivenStep[])[] = []
  let totalMs = 0
  let clockMs = 0
  for (let i = 0; i + 1 < places.length; i++) {
    const leg = findTimedLeg(timetable, places[i]!, places[i + 1]!, clockMs, control)
    if (leg === undefined) throw noLeg(control, i, points)
    legs.push(leg.steps)
    totalMs += leg.costMs
    clockMs = leg.clockMs
    yield
  }
  return { costMs: totalMs, legs }
}

function findTimedLeg(
  timetable: Timetable,
  from: Place,
  to: Place,
  departMs: number,
  control: Control,
): TimedLeg | undefined {
  const start = timetable.profileOf(slotAt(timetable, departMs))
  const { graph } = start
  const direct = directLeg(start, from, to)
  const sources = endsOf(start, from).sources
  const labels = createLabels(graph.nodeCount)
  const arrival = run(timetable, graph, labels, sources, to, departMs, control, direct?.costMs)
  if (control.stoppedBy !== undefined) return undefined
  if (arrival === undefined) {
    if (direct === undefined) return undefined
    const steps = direct.steps.map((step) => measureStep(start, step))
    return { costMs: direct.costMs, clockMs: departMs + drivingMs(graph, steps), steps }
  }
  const driven = readSteps(timetable, graph, labels, sources, arrival, departMs)
  return {
    costMs: arrival.costMs,
    clockMs: departMs + drivingMs(graph, driven),
    steps: stepsWithLength(graph, driven),
  }
}

/**
 * A bound taken in full makes arcs on the way free of charge, and labels would settle before all equally cheap ways to
 * them are known. With this much of it they settle as without; in binary all products are exact.
 */
const BOUND_SHARE = 1023 / 1024

/**
 * Settles labels, those first whose cost and bound of the rest are least, until nothing cheaper than the best arrival is
 * left.
 *
 * @see P. Hart, N. Nilsson, B. Raphael, "A formal basis for the heuristic determination of minimum cost paths", 1968
 */
function run(
  timetable: Timetable,
  graph: Graph,
  labels: Labels,
  sources: readonly LinkEnd[],
  to: Place,
  departMs: number,
  control: Control,
  boundMs = Number.POSITIVE_INFINITY,
): Arrival | undefined {
  const { firstOut, head } = graph
  const drive = freeWeights(graph)
  const queue = new FlatQueue<number>()
  const targets: (readonly LinkEnd[] | undefined)[] = []
  const bound = timetable.boundTo?.(endsOf(createProfile(graph), to).targets)
  const restOf = bound === undefined ? () => 0 : (node: number) => bound(node) * BOUND_SHARE
  let arrival: Arrival | undefined
  let bestMs = boundMs
  let settledCount = 0
  sources.forEach((source, i) => {
    const clock = departMs + drivingMs(graph, [{ link: source.link, from: source.position, to: undefined }])
    const restMs = restOf(source.node)
    if (restMs === Number.POSITIVE_INFINITY) return
    offer(labels, queue, source.node, slotAt(timetable, clock), source.costMs, restMs, clock, ~i, -1)
  })
  while (queue.length > 0) {
    const leastMs = queue.peekValue()!
    const label = queue.pop()!
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
    const profile = timetable.profileOf(slot)
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
      if (weightMs < 0) continue
      const next = head[arc]!
      const restMs = restOf(next)
      if (restMs === Number.POSITIVE_INFINITY) continue // no way from there
      const nextClock = clock + drive[arc]!
      const nextSlot = slotAt(timetable, nextClock)
      offer(labels, queue, next, nextSlot, cost + weightMs, restMs, nextClock, arc, label)
    }
  }
  return arrival
}

/** Walks the parents back; each step is measured in the slot in which it is entered. */
function readSteps(
  timetable: Timetable,
  graph: Graph,
  labels: Labels,
  sources: readonly LinkEnd[],
  arrival: Arrival,
  departMs: number,
): DrivenStep[] {
  const slotOf = (label: number) => timetable.profileOf(labels.slot[label]!)
  const { link, position } = arrival.target
  const steps = [measureStep(slotOf(arrival.label), { link, from: undefined, to: position })]
  let label = arrival.label
  while (labels.parent[label]! >= 0) {
    const step: Step = { link: graph.arcLink[labels.arc[label]!]!, from: undefined, to: undefined }
    label = labels.parent[label]!
    steps.push(measureStep(slotOf(label), step))
  }
  const source = sources[~labels.arc[label]!]!
  // priced at the departure, whatever slot its end falls into
  const start = timetable.profileOf(slotAt(timetable, departMs))
  steps.push(measureStep(start, { link: source.link, from: source.position, to: undefined }))
  return steps.reverse()
}

/** Slot in which a moment falls. */
function slotAt({ slotStartMs }: Timetable, clockMs: number): number {
  let slot = Math.min(slotStartMs.length, MAX_SLOTS) - 1
  while (slot > 0 && slotStartMs[slot]! > clockMs) slot--
  return slot
}

/** What the clock shows for steps: each rounded to whole milliseconds, as the search does. */
function drivingMs(graph: Graph, steps: readonly Step[]): number {
  return steps.reduce((sum, step) => {
    const [fromMm, toMm] = stepRange(graph, step)
    return sum + costMs(toMm - fromMm, graph.linkSpeed[step.link]!)
  }, 0)
}
