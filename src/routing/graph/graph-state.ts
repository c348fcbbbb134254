import {
  CONDITIONAL_ARC,
  CONDITIONAL_LINK,
  conditionsOf,
  type DecisionTable,
  flagsOf,
  outcomeOf,
  packOutcome,
  speedOf,
} from './conditions.js'
import { ENDS_ONLY, type Graph, LINK_FLAG, NO_ARC } from './graph.js'

/** Flags that a condition may change. */
const VARIABLE = ENDS_ONLY | LINK_FLAG.FROM_PUBLIC | LINK_FLAG.FERRY | LINK_FLAG.ROUNDABOUT

/**
 * Returns the graph as it is while some conditions hold: the same arrays apart from those that differ. The
 * graph itself is the one in which none holds.
 *
 * Cost: a copy of the speeds, flags and start arcs of links when any differs, 7 bytes a link.
 *
 * @param holds condition → not 0 when it holds
 */
export function graphWhile(graph: Graph, holds: ArrayLike<number>): Graph {
  const tables = conditionsOf(graph)?.tables ?? []
  return derive(graph, (table) => outcomeOf(tables[table]!, holds), closedArcsWhile(graph, holds))
}

/** Entry of `holds` for a condition that holds at some time. */
export const UNKNOWN = 2

/**
 * Returns the graph on which no road costs more than while any of some conditions hold: each at its highest
 * speed, and each turn that they allow at some time.
 *
 * @param holds condition → 1 when it holds, 0 when it does not, `UNKNOWN` when it may
 */
export function fastestGraph(graph: Graph, holds: ArrayLike<number>): Graph {
  const { conditionalArcs = NO_ENTRIES } = graph
  const possible = (conditionsOf(graph)?.tables ?? []).map((table) => outcomesOf(table, holds))
  const fastest = possible.map(cheapestOf)
  const closed = new Set<number>()
  for (let at = 0; at < conditionalArcs.length; at += CONDITIONAL_ARC) {
    if (!possible[conditionalArcs[at + 1]!]!.includes(0)) closed.add(conditionalArcs[at]!)
  }
  return derive(graph, (table) => fastest[table]!, closed)
}

/** Returns the highest speed of some outcomes, with the price of a private road only where each has it. */
function cheapestOf(outcomes: readonly number[]): number {
  const fastest = outcomes.reduce((best, one) => (speedOf(one) > speedOf(best) ? one : best))
  const isFree = outcomes.some((one) => speedOf(one) > 0 && (flagsOf(one) & LINK_FLAG.FROM_PUBLIC) === 0)
  return isFree ? packOutcome(speedOf(fastest), flagsOf(fastest) & ~LINK_FLAG.FROM_PUBLIC) : fastest
}

/** Lists the outcomes of a table that are possible. */
function outcomesOf({ when, out }: DecisionTable, holds: ArrayLike<number>): number[] {
  const isPossible = (position: number) =>
    when.every(
      (condition, bit) => holds[condition] === UNKNOWN || holds[condition] === ((position >> bit) & 1),
    )
  return out.filter((_, position) => isPossible(position))
}

/** Lists the arcs that must not be driven while some conditions hold; undefined when there are none. */
export function closedArcsWhile(graph: Graph, holds: ArrayLike<number>): Set<number> | undefined {
  const { conditionalArcs } = graph
  const tables = conditionsOf(graph)?.tables
  if (conditionalArcs === undefined || tables === undefined) return undefined
  const closed = new Set<number>()
  for (let at = 0; at < conditionalArcs.length; at += CONDITIONAL_ARC) {
    if (outcomeOf(tables[conditionalArcs[at + 1]!]!, holds) !== 0) closed.add(conditionalArcs[at]!)
  }
  return closed.size === 0 ? undefined : closed
}

/** Returns a graph with other outcomes of its conditional links and other closed arcs. */
function derive(
  graph: Graph,
  outcomeOfTable: (table: number) => number,
  closedArcs: ReadonlySet<number> | undefined,
): Graph {
  const { conditionalLinks = NO_ENTRIES } = graph
  const links: number[] = []
  let arrays: Pick<Graph, 'linkSpeed' | 'linkFlags' | 'linkStartArc'> = graph
  for (let at = 0; at < conditionalLinks.length; at += CONDITIONAL_LINK) {
    const link = conditionalLinks[at]!
    const outcome = outcomeOfTable(conditionalLinks[at + 1]!)
    const speed = speedOf(outcome)
    const flags = (graph.linkFlags[link]! & ~VARIABLE) | flagsOf(outcome)
    const isEndsOnly = (flags & ENDS_ONLY) !== 0
    const startArc = speed === 0 ? NO_ARC : conditionalLinks[at + (isEndsOnly ? 3 : 2)]!
    const isSame =
      speed === graph.linkSpeed[link] &&
      (speed === 0 || flags === graph.linkFlags[link]) &&
      startArc === graph.linkStartArc[link]
    if (isSame) continue
    if (arrays === graph) arrays = copyOf(graph)
    arrays.linkSpeed[link] = speed
    arrays.linkFlags[link] = flags
    arrays.linkStartArc[link] = startArc
    links.push(link)
  }
  const arcs = differing(graph.closedArcs, closedArcs)
  if (links.length === 0 && arcs.length === 0) return graph
  const state = { ...graph, ...arrays, closedArcs, changes: { base: graph, links, arcs } }
  flagMain(state, links)
  return state
}

const NO_ENTRIES = new Uint32Array(0)

function copyOf({ linkSpeed, linkFlags, linkStartArc }: Graph) {
  return { linkSpeed: linkSpeed.slice(), linkFlags: linkFlags.slice(), linkStartArc: linkStartArc.slice() }
}

/** Lists the arcs that are in one of two sets only. */
function differing(a: ReadonlySet<number> | undefined, b: ReadonlySet<number> | undefined): number[] {
  return [...(a ?? [])]
    .filter((arc) => b?.has(arc) !== true)
    .concat([...(b ?? [])].filter((arc) => a?.has(arc) !== true))
}

/**
 * Flags the links that conditions have opened and that lead from the main network and back to it, also over
 * others of them. Links that are closed now need no change: their flags are not read.
 */
function flagMain(state: Graph, links: readonly number[]): void {
  const { linkSpeed, linkFlags, changes } = state
  const opened = links.filter((link) => linkSpeed[link]! > 0 && changes?.base.linkSpeed[link] === 0)
  const isMain = (link: number) => (linkFlags[link]! & LINK_FLAG.MAIN) !== 0 && linkSpeed[link]! > 0
  const reaches = grow(opened, (link, known) =>
    onward(state, link).some((next) => isMain(next) || known.has(next)),
  )
  const before = predecessors(state, new Set(opened))
  const reached = grow(opened, (link, known) =>
    (before.get(link) ?? []).some((last) => isMain(last) || known.has(last)),
  )
  for (const link of opened) if (reaches.has(link) && reached.has(link)) linkFlags[link]! |= LINK_FLAG.MAIN
}

/** Grows the set of items for which a test holds, until it holds for no further one. */
function grow(
  items: readonly number[],
  test: (item: number, known: ReadonlySet<number>) => boolean,
): Set<number> {
  const known = new Set<number>()
  for (let size = -1; size !== known.size; ) {
    size = known.size
    for (const item of items) if (!known.has(item) && test(item, known)) known.add(item)
  }
  return known
}

/** Lists the open links that may follow a link. */
function onward(graph: Graph, link: number): number[] {
  const { firstOut, head, linkStartArc, arcLink, linkSpeed, closedArcs } = graph
  const arc = linkStartArc[link]!
  if (arc === NO_ARC) return [] // no test: links that were opened have an arc, see faultOfLinks
  const links: number[] = []
  for (let next = firstOut[head[arc]!]!; next < firstOut[head[arc]! + 1]!; next++) {
    if (linkSpeed[arcLink[next]!]! > 0 && closedArcs?.has(next) !== true) links.push(arcLink[next]!)
  }
  return links
}

/** Link of a set → open links from which it may be entered. */
function predecessors(graph: Graph, wanted: ReadonlySet<number>): Map<number, number[]> {
  const { segmentCount, linkSpeed, segmentTail, segmentHead } = graph
  const found = new Map<number, number[]>()
  if (wanted.size === 0) return found
  const tails = new Set([...wanted].map((link) => junctionOf(graph, link ^ 1)))
  for (let segment = 0; segment < segmentCount; segment++) {
    if (!tails.has(segmentHead[segment]!) && !tails.has(segmentTail[segment]!)) continue
    for (let link = segment * 2; link <= segment * 2 + 1; link++) {
      if (linkSpeed[link] === 0) continue
      for (const next of onward(graph, link)) {
        if (!wanted.has(next)) continue
        const known = found.get(next)
        if (known === undefined) found.set(next, [link])
        else known.push(link)
      }
    }
  }
  return found
}

/** Returns the junction at the end of a link. */
function junctionOf({ segmentTail, segmentHead }: Graph, link: number): number {
  return (link & 1) === 0 ? segmentHead[link >>> 1]! : segmentTail[link >>> 1]!
}
