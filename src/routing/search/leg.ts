import type { Graph } from '../graph/graph.js'
import type { RoadPoint } from '../graph/snap.js'
import { isBackward } from '../graph/topology.js'
import { turnMs } from '../graph/turn-costs.js'
import type { Control } from './dijkstra.js'
import { findExactPath } from './exact-path.js'
import type { LegSearch, NodePath } from './leg-search.js'
import { arrivalAt, type LinkEnd, type LinkPlace, type SnapEnds } from './link-ends.js'
import { type Profile, partMs } from './profile.js'
import { turnsRound } from './u-turns.js'

/** A link as it is driven, or the part of it between two points. */
export interface Step {
  readonly link: number
  /** undefined = the beginning of the link */
  readonly from: RoadPoint | undefined
  /** undefined = the end of the link */
  readonly to: RoadPoint | undefined
  /** price of the turn by which it is entered, milliseconds; where a route begins, that of a private road */
  readonly turnMs: number
}

/** Path from one snapped point of a request to the next, link by link. */
export interface Leg {
  /** in integral milliseconds, as searched */
  readonly costMs: number
  /** in the order of travel; links driven for 0 mm are left out, so a leg between equal points has no step */
  readonly steps: readonly Step[]
  /** where it ends, and in which turn state; undefined = it has no step */
  readonly arrival: LinkPlace | undefined
}

/**
 * Finds the cheapest path from one snapped point to another.
 *
 * Within one link the direct leg is taken when nothing is cheaper. U-turns in the middle of a link are not
 * allowed: a goal behind the start is reached by a detour. A path that turns round where traffic must not is
 * searched for again, see `findExactPath`, and is taken only where there is no other.
 *
 * @returns undefined when there is no path, or when the search was stopped (`control.stoppedBy`)
 */
export function findLeg(
  profile: Profile,
  search: LegSearch,
  from: SnapEnds,
  to: SnapEnds,
  control: Control,
): Leg | undefined {
  const direct = directLeg(profile, from, to)
  if (direct !== undefined && direct.costMs === 0) return direct
  const maxCostMs = direct === undefined ? undefined : direct.costMs - 1 // costs are integral: only a cheaper path counts
  const found = search.one(from.sources, to.targets, control, maxCostMs)
  let path = found
  if (found !== undefined && isForbidden(profile.graph, from, to, found)) {
    const potential = search.potentialTo(to.targets)
    path = findExactPath({ profile, potential, from, to, control, maxCostMs })
    // no other way at all, for instance because areas are closed: then traffic has to turn round
    if (path === undefined && direct === undefined && control.stoppedBy === undefined) path = found
  }
  if (path === undefined) return control.stoppedBy === undefined ? direct : undefined
  return legOf(profile.graph, from, to, path)
}

/**
 * Finds the leg within one link when both points are on it in the order of travel; the cheapest of several.
 *
 * @returns undefined when there is none, or when it is closed
 */
export function directLeg(profile: Profile, from: SnapEnds, to: SnapEnds): Leg | undefined {
  const { graph } = profile
  let best: Leg | undefined
  for (const { link, point: start, arc } of from.starts) {
    for (const goal of to.snap.points) {
      if (start.segment !== goal.segment) continue
      // offsets are from the segment's tail: driven backward, the start has the larger one
      const [low, high] = isBackward(link) ? [goal, start] : [start, goal]
      if (low.offsetMm > high.offsetMm) continue
      const costMs = partMs(profile, link, low.offsetMm, high.offsetMm)
      if (costMs < 0 || (best !== undefined && costMs >= best.costMs)) continue
      const steps = stepsWithLength(graph, [{ link, from: start, to: goal, turnMs: 0 }])
      best = { costMs, steps, arrival: steps.length === 0 ? undefined : { link, point: goal, arc } }
    }
  }
  return best
}

/** Returns true when a path turns round where traffic must not. */
function isForbidden(graph: Graph, from: SnapEnds, to: SnapEnds, path: NodePath): boolean {
  return turnsRound(graph, from.sources[path.source]!, to.targets[path.target]!, path.arcs)
}

function legOf(graph: Graph, from: SnapEnds, to: SnapEnds, path: NodePath): Leg {
  const source = from.sources[path.source]!
  const target = to.targets[path.target]!
  const { arcLink, segmentLengthMm } = graph
  const steps: Step[] = stepsWithLength(graph, [firstStep(source)])
  for (const arc of path.arcs) {
    const link = arcLink[arc]!
    // the price of entering a link of length 0 is 0
    if (segmentLengthMm[link >>> 1]! > 0)
      steps.push({ link, from: undefined, to: undefined, turnMs: turnMs(graph, arc) })
  }
  steps.push(...stepsWithLength(graph, [lastStep(graph, target)]))
  const arrival = arrivalAt(graph, source, path.arcs.at(-1), target)
  return { costMs: path.costMs, steps, arrival }
}

/** Returns the step by which a leg leaves a source. */
export function firstStep({ link, point, entryMs = 0 }: LinkEnd): Step {
  return { link, from: point, to: undefined, turnMs: entryMs }
}

/** Returns the step by which a leg ends. */
export function lastStep(graph: Graph, { link, point, arc }: LinkEnd): Step {
  return { link, from: undefined, to: point, turnMs: turnMs(graph, arc) }
}

/** Returns the steps that are longer than 0 mm. */
export function stepsWithLength<S extends Step>(graph: Graph, steps: readonly S[]): S[] {
  return steps.filter((step) => {
    const [fromMm, toMm] = stepRange(graph, step)
    return toMm > fromMm
  })
}

/**
 * Returns the part of its segment that a step covers: offsets from the segment's tail, mm, the smaller first.
 */
export function stepRange(graph: Pick<Graph, 'segmentLengthMm'>, step: Step): [fromMm: number, toMm: number] {
  const lengthMm = graph.segmentLengthMm[step.link >>> 1]!
  const { from, to } = step
  return isBackward(step.link)
    ? [to?.offsetMm ?? 0, from?.offsetMm ?? lengthMm]
    : [from?.offsetMm ?? 0, to?.offsetMm ?? lengthMm]
}
