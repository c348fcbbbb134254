import { endPoint } from '../graph/geometry.js'
import { ENDS_ONLY, type Graph, NO_ARC } from '../graph/graph.js'
import { numberAt } from '../graph/paged.js'
import type { RoadPoint, Snap } from '../graph/snap.js'
import { arcTail, isBackward } from '../graph/topology.js'
import { entryMs, turnMs } from '../graph/turn-costs.js'
import type { End } from './dijkstra.js'
import { type Profile, partMs } from './profile.js'

/** A point on a link that is driven, and the arc in whose turn state it is driven. */
export interface LinkPlace {
  readonly link: number
  readonly point: RoadPoint
  readonly arc: number
}

/** Node where a leg may begin or end, the point on the road, and the link between the two. */
export interface LinkEnd extends End, LinkPlace {
  /** price of beginning with this link, which `costMs` includes: see `entryMs`; undefined = 0 */
  readonly entryMs?: number | undefined
}

/** Ends that a snapped point gives to the legs that begin there, and to those that end there. */
export interface SnapEnds {
  readonly snap: Snap
  /** where a leg may begin */
  readonly starts: readonly LinkPlace[]
  /** the same starts as far as no closed piece lies between them and the ends of their links */
  readonly sources: readonly LinkEnd[]
  readonly targets: readonly LinkEnd[]
}

/** Link that was not driven: the point lies at its end, or where a leg ends, at its beginning. */
export const NO_LINK = -1

/**
 * Lists the nodes where legs from and to a snapped point leave and enter the graph: for both directions of
 * every segment that the point is on, as far as they may be driven and are not closed in between.
 */
export function endsOf(profile: Profile, snap: Snap): SnapEnds {
  const { graph } = profile
  const targets: LinkEnd[] = []
  const starts: LinkPlace[] = []
  for (const point of snap.points) {
    for (let link = point.segment * 2; link <= point.segment * 2 + 1; link++) {
      const arc = graph.linkStartArc[link]!
      // closed to traffic in this direction
      if (arc === NO_ARC) continue
      starts.push({ link, point, arc })
      addTargets(profile, link, point, targets)
    }
  }
  const sources = sourcesOf(profile, starts).map((source) => entered(graph, source))
  return { snap, starts, sources, targets }
}

/**
 * Lists the ends of a via point for the leg that leaves it: it goes on in the turn state in which the leg
 * before arrived, or turns round there.
 *
 * @param from ends of the point where the leg before began
 * @param to ends of the via point
 * @param arrival where the leg before ended; undefined = it had no length, so its own start still holds
 */
export function endsAfter(
  profile: Profile,
  from: SnapEnds,
  to: SnapEnds,
  arrival: LinkPlace | undefined,
): SnapEnds {
  if (arrival === undefined) return { ...to, starts: from.starts, sources: from.sources }
  const { linkStartArc, linkFlags } = profile.graph
  const { link, point } = arrival
  const isPrivate = (linkFlags[link]! & ENDS_ONLY) !== 0
  // a route that was to end on a private road may leave it again, as one that begins there
  const starts = [isPrivate ? { link, point, arc: linkStartArc[link]! } : arrival]
  const back = linkStartArc[link ^ 1]!
  if (back !== NO_ARC) starts.push({ link: link ^ 1, point, arc: back })
  return { ...to, starts, sources: sourcesOf(profile, starts) }
}

/**
 * Returns where a path ends: on the last link, or, when the path ends at a junction before that link, at the
 * end of the link before it.
 *
 * @param target last end of the path
 * @param lastArc last arc of the path before it, undefined = it follows the source
 */
export function arrivalAt(
  graph: Graph,
  source: LinkPlace,
  lastArc: number | undefined,
  target: LinkPlace,
): LinkPlace {
  if (drivenTo(graph, target) !== NO_LINK) return target
  const arc = lastArc ?? source.arc
  const link = lastArc === undefined ? source.link : graph.arcLink[lastArc]!
  const segment = link >>> 1
  return { link, arc, point: { ...endPoint(graph, segment, !isBackward(link)), segment } }
}

/** Returns the link that a leg drives first, `NO_LINK` when it begins at the end of it. */
export function drivenFrom({ segmentLengthMm }: Graph, { link, point }: LinkPlace): number {
  const endMm = isBackward(link) ? 0 : segmentLengthMm[link >>> 1]!
  return point.offsetMm === endMm ? NO_LINK : link
}

/** Returns the link that a leg drives last, `NO_LINK` when it ends at the beginning of it. */
export function drivenTo(
  { segmentLengthMm }: Graph,
  { link, point }: Pick<LinkPlace, 'link' | 'point'>,
): number {
  const beginMm = isBackward(link) ? segmentLengthMm[link >>> 1]! : 0
  return point.offsetMm === beginMm ? NO_LINK : link
}

/** Returns a source with the price of entering its link, where a route begins at the beginning of that link. */
function entered(graph: Graph, source: LinkEnd): LinkEnd {
  const ms = drivenTo(graph, source) === NO_LINK ? entryMs(graph, source.link) : 0
  return ms === 0 ? source : { ...source, costMs: source.costMs + ms, entryMs: ms }
}

function sourcesOf(profile: Profile, starts: readonly LinkPlace[]): LinkEnd[] {
  const { graph } = profile
  const sources: LinkEnd[] = []
  for (const { link, point, arc } of starts) {
    const lengthMm = graph.segmentLengthMm[point.segment]!
    const costMs = isBackward(link)
      ? partMs(profile, link, 0, point.offsetMm)
      : partMs(profile, link, point.offsetMm, lengthMm)
    // -1 means a closed piece between the point and the end of the link
    if (costMs >= 0) sources.push({ node: graph.head[arc]!, costMs, link, point, arc })
  }
  return sources
}

/** A route may end inside a link in any turn state, so the tail of each of the link's arcs is a target. */
function addTargets(profile: Profile, link: number, point: RoadPoint, targets: LinkEnd[]): void {
  const { graph } = profile
  const lengthMm = graph.segmentLengthMm[point.segment]!
  const partialMs = isBackward(link)
    ? partMs(profile, link, point.offsetMm, lengthMm)
    : partMs(profile, link, 0, point.offsetMm)
  if (partialMs < 0) return
  // a leg that ends where the link begins does not enter it
  const isEntered = drivenTo(graph, { link, point }) !== NO_LINK
  const end = numberAt(graph.linkFirstArc, link + 1)
  for (let at = numberAt(graph.linkFirstArc, link); at < end; at++) {
    const arc = numberAt(graph.linkArcs, at)
    // a link that may not be entered in this state now is not an end either
    if (graph.closedArcs?.has(arc) === true) continue
    const costMs = isEntered ? partialMs + turnMs(graph, arc) : partialMs
    targets.push({ node: arcTail(graph, arc), costMs, link, point, arc })
  }
}
