import { ENDS_ONLY, LINK_FLAG } from '../../routing/graph/graph.js'
import { createGrowing, filled, push } from '../arrays/growing.js'
import type { Segments } from '../network/segments.js'
import { type Adjacency, linkHead, linkTail } from './adjacency.js'
import { type Automaton, ROOT } from './automaton.js'
import { arcTails, type Directed, findComponents, reverse, spread } from './components.js'

/**
 * Finds the links at whose ends traffic may turn round: dead ends, and places from which no other way leads
 * back to the network.
 *
 * A dead end is a place that a link leaves by turning round only: no other link leaves it, or turn
 * restrictions forbid all of them. A private road is no way on for public traffic.
 *
 * Cost: linear in the pairs of links that follow each other.
 *
 * @param rules automaton of the turn restrictions
 * @returns link → 1 where a route may turn round at its end
 */
export function findTurningPlaces(segments: Segments, adjacency: Adjacency, rules: Automaton): Uint8Array {
  const mayTurn = new Uint8Array(segments.count * 2)
  const follow = linkGraph(segments, adjacency, rules, mayTurn)
  const isBack = leadsBack(segments, adjacency.junctionCount, follow)
  for (let link = 0; link < mayTurn.length; link++) {
    const isTrapped = adjacency.isOpen(link) && isBack[link] === 0
    if (isTrapped && adjacency.isOpen(link ^ 1) && isBack[link ^ 1] === 1) mayTurn[link] = 1
  }
  return mayTurn
}

/**
 * Sets the flags of links that follow from where traffic may turn round.
 *
 * @param mayTurn of `findTurningPlaces`
 * @param isWanted links whose flags are set
 */
export function flagTurns(
  segments: Segments,
  adjacency: Adjacency,
  mayTurn: Uint8Array,
  isWanted: (link: number) => boolean,
): void {
  const { linkFlags } = segments
  for (let link = 0; link < linkFlags.length; link++) {
    if (!adjacency.isOpen(link)) continue
    if (mayTurn[link] === 0 && isWanted(link)) linkFlags[link]! |= LINK_FLAG.NO_U_TURN
    const end = linkHead(segments, link)
    // the only road there: whoever leaves it has turned round; a road without length would hide the price
    const isEnd = adjacency.degree(end) === 1 && segments.lengthMm[link >>> 1]! > 0
    if (isEnd && adjacency.isOpen(link ^ 1) && isWanted(link ^ 1))
      linkFlags[link ^ 1]! |= LINK_FLAG.AFTER_U_TURN
  }
}

/** Links as nodes, with arcs to the links that may follow. Marks the dead ends, where one is its own reverse. */
function linkGraph(
  segments: Segments,
  adjacency: Adjacency,
  rules: Automaton,
  mayTurn: Uint8Array,
): Directed {
  const nodeCount = segments.count * 2
  const { linkFlags } = segments
  const firstOut = new Uint32Array(nodeCount + 1)
  const head = createGrowing(Uint32Array, nodeCount * 2)
  for (let link = 0; link < nodeCount; link++) {
    firstOut[link] = head.length
    if (!adjacency.isOpen(link)) continue
    const memory = rules.next(ROOT, link)
    const isPublic = (linkFlags[link]! & ENDS_ONLY) === 0
    let isDeadEnd = true
    for (const next of adjacency.linksOut(linkHead(segments, link))) {
      if (next === (link ^ 1) || !rules.isAllowed(memory, next)) continue
      push(head, next)
      if (!isPublic || (linkFlags[next]! & ENDS_ONLY) === 0) isDeadEnd = false
    }
    if (!isDeadEnd || !adjacency.isOpen(link ^ 1)) continue
    mayTurn[link] = 1
    push(head, link ^ 1)
  }
  firstOut[nodeCount] = head.length
  return { nodeCount, firstOut, head: filled(head) }
}

/**
 * Finds the links from which the network around them can be reached: the largest set of links there that all
 * lead to each other. Each part of the map that no road joins to others is a network of its own.
 */
function leadsBack(segments: Segments, junctionCount: number, follow: Directed): Uint8Array {
  const { nodeCount, firstOut, head } = follow
  const { component, count } = findComponents(follow)
  const part = findParts(segments, junctionCount)
  const size = new Uint32Array(count)
  for (let link = 0; link < nodeCount; link++) size[component[link]!]!++
  const largest = new Int32Array(junctionCount).fill(-1) // part → its largest component
  for (let link = 0; link < nodeCount; link++) {
    const of = part[linkTail(segments, link)]!
    const known = largest[of]!
    if (known < 0 || size[component[link]!]! > size[known]!) largest[of] = component[link]!
  }
  const isBack = new Uint8Array(nodeCount)
  for (let link = 0; link < nodeCount; link++) {
    if (component[link] === largest[part[linkTail(segments, link)]!]) isBack[link] = 1
  }
  const backwards = reverse(head, arcTails(follow), nodeCount, firstOut[nodeCount]!)
  spread(isBack, backwards.first, backwards.tails, nodeCount)
  return isBack
}

/** Junction → smallest junction that roads join it to, whatever their direction. */
function findParts({ count, tail, head }: Segments, junctionCount: number): Uint32Array {
  const part = Uint32Array.from({ length: junctionCount }, (_, junction) => junction)
  const find = (junction: number): number => {
    let at = junction
    while (part[at] !== at) at = part[at] = part[part[at]!]!
    return at
  }
  for (let segment = 0; segment < count; segment++) {
    const [a, b] = [find(tail[segment]!), find(head[segment]!)]
    part[Math.max(a, b)] = Math.min(a, b)
  }
  for (let junction = 0; junction < junctionCount; junction++) part[junction] = find(junction)
  return part
}
