import { type Graph, NO_ARC } from '../graph/graph.js'
import type { RoadPoint, Snap } from '../graph/snap.js'
import { arcTail, isBackward } from '../graph/topology.js'
import type { Control, End } from './dijkstra.js'
import type { LegSearch, NodePath } from './leg-search.js'
import { type Profile, partMs } from './profile.js'

/** A link as it is driven, or the part of it between two points. */
export interface Step {
  readonly link: number
  /** undefined = the beginning of the link */
  readonly from: RoadPoint | undefined
  /** undefined = the end of the link */
  readonly to: RoadPoint | undefined
}

/** Path from one snapped point of a request to the next, link by link. */
export interface Leg {
  /** in integral milliseconds, as searched */
  readonly costMs: number
  /** in the order of travel; links driven for 0 mm are left out, so a leg between equal points has no step */
  readonly steps: readonly Step[]
}

/** Node where a leg may begin or end, the point on the road, and the link between the two. */
export interface LinkEnd extends End {
  readonly link: number
  readonly point: RoadPoint
}

/** Ends that a snapped point gives to the legs that begin there, and to those that end there. */
export interface SnapEnds {
  readonly snap: Snap
  readonly sources: readonly LinkEnd[]
  readonly targets: readonly LinkEnd[]
}

/**
 * Lists the nodes where legs from and to a snapped point leave and enter the graph: for both directions of
 * every segment that the point is on, as far as they may be driven and are not closed in between.
 */
export function endsOf(profile: Profile, snap: Snap): SnapEnds {
  const { graph } = profile
  const sources: LinkEnd[] = []
  const targets: LinkEnd[] = []
  for (const point of snap.points) {
    for (let link = point.segment * 2; link <= point.segment * 2 + 1; link++) {
      // closed to traffic in this direction
      if (graph.linkStartArc[link] === NO_ARC) continue
      addSource(profile, link, point, sources)
      addTargets(profile, link, point, targets)
    }
  }
  return { snap, sources, targets }
}

/**
 * Finds the cheapest path from one snapped point to another.
 *
 * Within one link the direct leg is taken when nothing is cheaper. U-turns in the middle of a link are not
 * allowed: a goal behind the start is reached by a detour. A leg may begin in either direction, whatever the
 * leg before did.
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
  const direct = directLeg(profile, from.snap, to.snap)
  if (direct !== undefined && direct.costMs === 0) return direct
  const maxCostMs = direct === undefined ? undefined : direct.costMs - 1 // costs are integral: only a cheaper path counts
  const path = search.one(from.sources, to.targets, control, maxCostMs)
  if (path === undefined) return control.stoppedBy === undefined ? direct : undefined
  return legOf(profile.graph, from, to, path)
}

function addSource(profile: Profile, link: number, point: RoadPoint, sources: LinkEnd[]): void {
  const { graph } = profile
  const lengthMm = graph.segmentLengthMm[point.segment]!
  const costMs = isBackward(link)
    ? partMs(profile, link, 0, point.offsetMm)
    : partMs(profile, link, point.offsetMm, lengthMm)
  // -1 means a closed piece between the point and the end of the link
  if (costMs >= 0) sources.push({ node: graph.head[graph.linkStartArc[link]!]!, costMs, link, point })
}

/** A route may end inside a link in any turn state, so the tail of each of the link's arcs is a target. */
function addTargets(profile: Profile, link: number, point: RoadPoint, targets: LinkEnd[]): void {
  const { graph } = profile
  const lengthMm = graph.segmentLengthMm[point.segment]!
  const costMs = isBackward(link)
    ? partMs(profile, link, point.offsetMm, lengthMm)
    : partMs(profile, link, 0, point.offsetMm)
  if (costMs < 0) return
  for (let at = graph.linkFirstArc[link]!, end = graph.linkFirstArc[link + 1]!; at < end; at++) {
    targets.push({ node: arcTail(graph, graph.linkArcs[at]!), costMs, link, point })
  }
}

/**
 * Finds the leg within one link when both points are on it in the order of travel; the cheapest of several.
 *
 * @returns undefined when there is none, or when it is closed
 */
export function directLeg(profile: Profile, from: Snap, to: Snap): Leg | undefined {
  const { graph } = profile
  let best: Leg | undefined
  for (const start of from.points) {
    for (const goal of to.points) {
      if (start.segment !== goal.segment) continue
      for (let link = start.segment * 2; link <= start.segment * 2 + 1; link++) {
        if (graph.linkStartArc[link] === NO_ARC) continue
        // offsets are from the segment's tail: driven backward, the start has the larger one
        const [low, high] = isBackward(link) ? [goal, start] : [start, goal]
        if (low.offsetMm > high.offsetMm) continue
        const costMs = partMs(profile, link, low.offsetMm, high.offsetMm)
        if (costMs < 0 || (best !== undefined && costMs >= best.costMs)) continue
        best = { costMs, steps: stepsWithLength(graph, [{ link, from: start, to: goal }]) }
      }
    }
  }
  return best
}

function legOf(graph: Graph, from: SnapEnds, to: SnapEnds, path: NodePath): Leg {
  const source = from.sources[path.source]!
  const target = to.targets[path.target]!
  const { arcLink, segmentLengthMm } = graph
  const steps: Step[] = stepsWithLength(graph, [{ link: source.link, from: source.point, to: undefined }])
  for (const arc of path.arcs) {
    const link = arcLink[arc]!
    if (segmentLengthMm[link >>> 1]! > 0) steps.push({ link, from: undefined, to: undefined })
  }
  steps.push(...stepsWithLength(graph, [{ link: target.link, from: undefined, to: target.point }]))
  return { costMs: path.costMs, steps }
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
