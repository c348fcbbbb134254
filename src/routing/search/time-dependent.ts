import type { Snap } from '../graph/snap.js'
import { turnMs } from '../graph/turn-costs.js'
import type { Control } from './dijkstra.js'
import { directLeg, firstStep, lastStep, type Step, stepsWithLength } from './leg.js'
import { arrivalAt, endsAfter, endsOf, type LinkEnd, type LinkPlace, type SnapEnds } from './link-ends.js'
import { type BlockedLeg, type DrivenStep, measureStep, type Route, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'
import { createLabels } from './time-labels.js'
import { type Arrival, drivingMs, runTimed, slotAt, type TimedSearch, type Timeline } from './timed-search.js'
import { turnsRound } from './u-turns.js'

interface TimedLeg {
  readonly costMs: number
  readonly clockMs: number
  readonly steps: readonly DrivenStep[]
  readonly arrival: LinkPlace | undefined
}

/** Ends of a leg under the profile of its departure. */
interface LegEnds {
  readonly from: SnapEnds
  readonly to: SnapEnds
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
  let from = endsOf(timeline.profileOf(0), snaps[0]!)
  for (let i = 0; i + 1 < snaps.length; i++) {
    const profile = timeline.profileOf(slotAt(timeline, clockMs))
    const to = endsOf(profile, snaps[i + 1]!)
    const leg = findTimedLeg(timeline, { from, to }, clockMs, control)
    throwIfStopped(control)
    if (leg === undefined) return { blockedLeg: i }
    legs.push(leg.steps)
    totalMs += leg.costMs
    clockMs = leg.clockMs
    // the next leg departs in the slot in which this one arrives
    from = endsAfter(timeline.profileOf(slotAt(timeline, clockMs)), from, to, leg.arrival)
    yield
  }
  return { costMs: totalMs, legs }
}

function findTimedLeg(
  timeline: Timeline,
  { from, to }: LegEnds,
  departMs: number,
  control: Control,
): TimedLeg | undefined {
  const start = timeline.profileOf(slotAt(timeline, departMs))
  const { graph } = start
  const direct = directLeg(start, from, to)
  const { sources } = from
  // the direct leg is known, so the search only looks for cheaper paths
  const boundMs = direct?.costMs ?? Number.POSITIVE_INFINITY
  const base = { timeline, graph, sources, to: to.snap, departMs, control, boundMs }
  // labels of this leg only: the clock of the next one begins where this one arrives
  let search: TimedSearch = { ...base, isByLink: false, labels: createLabels(graph.nodeCount) }
  let arrival = runTimed(search)
  if (arrival !== undefined && isForbidden(search, arrival)) {
    const byLink = { ...base, isByLink: true, labels: createLabels(graph.arcCount + sources.length) }
    const exact = runTimed(byLink)
    // a path that turns round where traffic must not is taken only where there is no other
    if (exact !== undefined || direct !== undefined) {
      search = byLink
      arrival = exact
    }
  }
  if (control.stoppedBy !== undefined) return undefined
  if (arrival === undefined) {
    if (direct === undefined) return undefined
    const steps = direct.steps.map((step) => measureStep(start, step))
    return {
      costMs: direct.costMs,
      clockMs: departMs + drivingMs(graph, steps),
      steps,
      arrival: direct.arrival,
    }
  }
  const driven = readSteps(search, arrival)
  const { source, arcs } = readArcs(search, arrival)
  return {
    costMs: arrival.costMs,
    clockMs: departMs + drivingMs(graph, driven),
    steps: stepsWithLength(graph, driven),
    arrival: arrivalAt(graph, source, arcs.at(-1), arrival.target),
  }
}

/** Returns true when a path turns round where traffic must not. */
function isForbidden(search: TimedSearch, arrival: Arrival): boolean {
  const { source, arcs } = readArcs(search, arrival)
  return turnsRound(search.graph, source, arrival.target, arcs)
}

/** Follows the parents back to the source. @returns arcs in the order of travel */
function readArcs({ labels, sources }: TimedSearch, arrival: Arrival): { source: LinkEnd; arcs: number[] } {
  const arcs: number[] = []
  let label = arrival.label
  for (; labels.parent[label]! >= 0; label = labels.parent[label]!) arcs.push(labels.arc[label]!)
  return { source: sources[~labels.arc[label]!]!, arcs: arcs.reverse() }
}

/** Follows the parents back; each step is measured in the slot in which it is entered. */
function readSteps(
  { timeline, graph, labels, sources, departMs }: TimedSearch,
  arrival: Arrival,
): DrivenStep[] {
  const profileAt = (label: number) => timeline.profileOf(labels.slot[label]!)
  const last = profileAt(arrival.label)
  const steps = [measureStep(last, lastStep(last.graph, arrival.target))]
  let label = arrival.label
  while (labels.parent[label]! >= 0) {
    const arc = labels.arc[label]!
    label = labels.parent[label]!
    const profile = profileAt(label)
    const step: Step = {
      link: graph.arcLink[arc]!,
      from: undefined,
      to: undefined,
      turnMs: turnMs(profile.graph, arc),
    }
    steps.push(measureStep(profile, step))
  }
  const source = sources[~labels.arc[label]!]!
  // the first link is entered at the departure, whatever slot its end falls into
  const start = timeline.profileOf(slotAt(timeline, departMs))
  steps.push(measureStep(start, firstStep(source)))
  return steps.reverse()
}
