import { type Graph, NO_ARC } from '../graph/graph.js'
import type { Place, Position } from '../graph/snap.js'
import { arcTail, isBackward } from '../graph/topology.js'
import type { Control, End } from './dijkstra.js'
import type { LegSearch, NodePath } from './leg-search.js'
import { type Profile, stretchMs } from './profile.js'

/** A link, or the part of it between two spots, as it is driven. */
export interface Step {
  readonly link: number
  /** undefined = from where the link begins */
  readonly from: Position | undefined
  /** undefined = to where the link ends */
  readonly to: Position | undefined
}

/** The way from one place of a request to the next. */
export interface Leg {
  /** in integral milliseconds, as searched */
  readonly costMs: number
  /** in the order of travel; stretches of length 0 are left out, so a leg between equal places has none */
  readonly steps: readonly Step[]
}

/** Where a leg may begin, or end: a node, the cost between it and the spot, and the link that lies between. */
export interface LinkEnd extends End {
  readonly link: number
  readonly position: Position
}

/** What a place offers to legs that begin at it, and to those that end there. */
export interface PlaceEnds {
  readonly place: Place
  readonly sources: readonly LinkEnd[]
  readonly targets: readonly LinkEnd[]
}

/** Both directions of every segment that the place is on, as far as they may be driven. */
export function endsOf(profile: Profile, place: Place): PlaceEnds {
  const { graph } = profile
  const sources: LinkEnd[] = []
  const targets: LinkEnd[] = []
  for (const position of place.positions) {
    for (let link = position.segment * 2; link <= position.segment * 2 + 1; link++) {
      if (graph.linkStartArc[link] === NO_ARC) continue
      addSource(profile, link, position, sources)
      addTargets(profile, link, position, targets)
    }
  }
  return { place, sources, targets }
}

/**
 * Cheapest way from one place to another.
 *
 * Within one link the way ahead is taken when nothing is cheaper. There is no turning round in the middle of a link:
 * a goal behind the start is reached by going around. Turning round where a leg begins is allowed.
 *
 * @returns undefined when there is none, or when the search was stopped (`control.stoppedBy`)
 */
export function findLeg(
  profile: Profile,
  search: LegSearch,
  from: PlaceEnds,
  to: PlaceEnds,
  control: Control,
): Leg | undefined {
  const direct = directLeg(profile, from.place, to.place)
  if (direct !== undefined && direct.costMs === 0) return direct
  const maxCostMs = direct === undefined ? undefined : direct.costMs - 1 // costs are integral
  const path = search.one(from.sources, to.targets, control, maxCostMs)
  if (path === undefined) return control.stoppedBy === undefined ? direct : undefined
  return legOf(profile.graph, from, to, path)
}

function addSource(profile: Profile, link: number, position: Position, sources: LinkEnd[]): void {
  const { graph } = profile
  const lengthMm = graph.segmentLengthMm[position.segment]!
  const costMs = isBackward(link)
    ? stretchMs(profile, link, 0, position.offsetMm)
    : stretchMs(profile, link, position.offsetMm, lengthMm)
  if (costMs >= 0) sources.push({ node: graph.head[graph.linkStartArc[link]!]!, costMs, link, position })
}

/** A route may end inside a link whatever it remembers when it enters it, so each of the link's arcs will do. */
function addTargets(profile: Profile, link: number, position: Position, targets: LinkEnd[]): void {
  const { graph } = profile
  const lengthMm = graph.segmentLengthMm[position.segment]!
  const costMs = isBackward(link)
    ? stretchMs(profile, link, position.offsetMm, lengthMm)
    : stretchMs(profile, link, 0, position.offsetMm)
  if (costMs < 0) return
  for (let at = graph.linkFirstArc[link]!, end = graph.linkFirstArc[link + 1]!; at < end; at++) {
    targets.push({ node: arcTail(graph, graph.linkArcs[at]!), costMs, link, position })
  }
}

/** The way ahead within one link, when both places are on it in the right order. */
export function directLeg(profile: Profile, from: Place, to: Place): Leg | undefined {
  const { graph } = profile
  let best: Leg | undefined
  for (const start of from.positions) {
    for (const goal of to.positions) {
      if (start.segment !== goal.segment) continue
      for (let link = start.segment * 2; link <= start.segment * 2 + 1; link++) {
        if (graph.linkStartArc[link] === NO_ARC) continue
        const [low, high] = isBackward(link) ? [goal, start] : [start, goal]
        if (low.offsetMm > high.offsetMm) continue
        const costMs = stretchMs(profile, link, low.offsetMm, high.offsetMm)
        if (costMs < 0 || (best !== undefined && costMs >= best.costMs)) continue
        best = { costMs, steps: stepsWithLength(graph, [{ link, from: start, to: goal }]) }
      }
    }
  }
  return best
}

function legOf(graph: Graph, from: PlaceEnds, to: PlaceEnds, path: NodePath): Leg {
  const source = from.sources[path.source]!
  const target = to.targets[path.target]!
  const { arcLink, segmentLengthMm } = graph
  const steps: Step[] = stepsWithLength(graph, [{ link: source.link, from: source.position, to: undefined }])
  for (const arc of path.arcs) {
    const link = arcLink[arc]!
    if (segmentLengthMm[link >>> 1]! > 0) steps.push({ link, from: undefined, to: undefined })
  }
  steps.push(...stepsWithLength(graph, [{ link: target.link, from: undefined, to: target.position }]))
  return { costMs: path.costMs, steps }
}

/** Leaves out steps of length 0. */
export function stepsWithLength<S extends Step>(graph: Graph, steps: readonly S[]): S[] {
  return steps.filter((step) => {
    const [fromMm, toMm] = stepRange(graph, step)
    return toMm > fromMm
  })
}

/** The stretch that a step drives: offsets from its segment's tail, the smaller first. */
export function stepRange(graph: Pick<Graph, 'segmentLengthMm'>, step: Step): [fromMm: number, toMm: number] {
  const lengthMm = graph.segmentLengthMm[step.link >>> 1]!
  const { from, to } = step
  return isBackward(step.link)
    ? [to?.offsetMm ?? 0, from?.offsetMm ?? lengthMm]
    : [from?.offsetMm ?? 0, to?.offsetMm ?? lengthMm]
}
