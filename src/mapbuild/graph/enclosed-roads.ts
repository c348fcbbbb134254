import { flagsOf, MAX_WHEN } from '../../routing/graph/conditions.js'
import { LINK_FLAG } from '../../routing/graph/graph.js'
import { fillWith } from '../arrays/fill-with.js'
import type { Segments } from '../network/segments.js'
import { type Decision, decide, outcomeWhile } from '../profile/decision.js'
import { buildAdjacency, linkHead, linkTail } from './adjacency.js'
import { arcTails, findComponents, reverse, spread } from './components.js'
import { ACCESS, accessOf, findAccess, type LinkAccess, outcomesOf } from './link-access.js'
import { findGroup } from './private-roads.js'
import { createQuarters, type QuarterState, type Quarters, type Surroundings } from './quarters.js'

/**
 * Flags public roads that traffic can reach, or leave, over private roads only, and private roads that begin
 * where public roads lead to: `LINK_FLAG.ENCLOSED` and `FROM_PUBLIC`. Where conditions change what is public, the
 * flags depend on them as well: they are in the outcomes of decisions.
 *
 * Enclosed roads are streets behind a gate. Like private roads they are for the ends of a route, so that a goal
 * there can be reached over a chain of private and enclosed roads, and nobody passes through. They are the public
 * links that are not on a public way from the public network and back, in a group of such links and private ones
 * that meets the public network somewhere. The public network is the largest set of junctions that all lead to
 * each other over public roads. Turn restrictions are not looked at.
 *
 * Private and enclosed roads are one estate, and a route pays where it enters it from outside, not at each gate
 * within. Since the price belongs to the place, a route that could go on along public roads pays for going on
 * along private ones, at its start as well as at its goal.
 *
 * Cost: almost linear in the links; in those that conditions can enclose, for each combination of the conditions.
 */
export function flagEnclosedRoads(segments: Segments, junctionCount: number): void {
  const { linkFlags, linkSpeed, linkDecisions } = segments
  const { quarters, isPublic, isMember } = findQuarters(segments, junctionCount)
  const mayBePrivate = (link: number) =>
    outcomesOf(segments, link).out.some((one) => accessOf(one) === ACCESS.private)
  const decided: [link: number, decision: Decision][] = []
  for (let link = 0; link < linkFlags.length; link++) {
    if (!linkDecisions.has(link) && isMember[link] === 0 && !mayBePrivate(link)) continue
    const decision = decideFlags(segments, quarters, isPublic, link)
    if (decision.when.length > 0) decided.push([link, decision])
    if (linkSpeed[link]! > 0) linkFlags[link] = flagsOf(decision.out[0]!)
  }
  linkDecisions.clear()
  for (const [link, decision] of decided) linkDecisions.set(link, decision)
}

/** Returns the outcomes of a link with both flags. */
function decideFlags(segments: Segments, quarters: Quarters, isPublic: Uint8Array, link: number): Decision {
  const own = outcomesOf(segments, link)
  const begin = linkTail(segments, link)
  const together = [...new Set([...own.when, ...quarters.whenAt(begin)])]
  // beyond, the price of a private road is that of the time at which no other condition holds
  const when = together.length > MAX_WHEN ? own.when : together
  const hasLength = segments.lengthMm[link >>> 1]! > 0
  return decide(when, (holds) => {
    const outcome = outcomeWhile(own, holds)
    const state: QuarterState | undefined = quarters.stateAt(begin, (one) => when.includes(one) && holds(one))
    if (state?.enclosed.has(link) === true) return outcome | (LINK_FLAG.ENCLOSED << 16)
    const isEntry = isPublic[begin] === 1 || state?.publicPlaces.has(begin) === true
    const isPriced = isEntry && hasLength && accessOf(outcome) === ACCESS.private
    return isPriced ? outcome | (LINK_FLAG.FROM_PUBLIC << 16) : outcome
  })
}

/** Finds the parts of the map in which roads may be enclosed, with the links and the junctions outside of them. */
function findQuarters(
  segments: Segments,
  junctionCount: number,
): { quarters: Quarters; isMember: Uint8Array; isPublic: Uint8Array } {
  const access = findAccess(segments)
  const { strict, widest } = access
  const isOuterLink = findOuterLinks(segments, junctionCount, strict)
  const isOuterAtTimes = access.hasVarying ? findOuterLinks(segments, junctionCount, widest) : isOuterLink
  const isEstate = findEstates(segments, junctionCount, strict, isOuterLink)
  const isMember = new Uint8Array(strict.length)
  const isOuter = new Uint8Array(junctionCount)
  const isPublic = new Uint8Array(junctionCount)
  const mark = (marked: Uint8Array, link: number) => {
    marked[linkTail(segments, link)] = 1
    marked[linkHead(segments, link)] = 1
  }
  for (let link = 0; link < strict.length; link++) {
    const isInner = strict[link] === ACCESS.public && isOuterLink[link] === 0
    const isShort = segments.lengthMm[link >>> 1] === 0 && strict[link] === ACCESS.private
    const isEnclosed = isInner && isEstate(linkTail(segments, link))
    const varies = access.isVarying(link) || isOuterLink[link] !== isOuterAtTimes[link]
    if (isEnclosed || isShort || varies) isMember[link] = 1
    else if (strict[link] === ACCESS.public) mark(isPublic, link)
    if (isOuterLink[link] === 1) mark(isOuter, link)
  }
  const members = [...isMember.keys()].filter((link) => isMember[link] === 1)
  const surroundings: Surroundings = { isOuter, isPublic, isEstate }
  return { quarters: createQuarters(segments, members, strict, surroundings), isMember, isPublic }
}

/** Finds the groups of links that are not in the public network, with a private one, that meet that network. */
function findEstates(
  segments: Segments,
  junctionCount: number,
  access: LinkAccess['strict'],
  isOuter: Uint8Array,
): (junction: number) => boolean {
  const groupOf = Int32Array.from({ length: junctionCount }, (_, junction) => junction)
  for (let link = 0; link < access.length; link++) {
    if (access[link] === ACCESS.closed || isOuter[link] === 1) continue
    groupOf[findGroup(groupOf, linkTail(segments, link))] = findGroup(groupOf, linkHead(segments, link))
  }
  // group → whether it has a private link, and whether it meets the public network
  const hasPrivate = new Uint8Array(junctionCount)
  const hasDoor = new Uint8Array(junctionCount)
  for (let link = 0; link < access.length; link++) {
    if (access[link] === ACCESS.closed) continue
    const group = findGroup(groupOf, linkTail(segments, link))
    if (isOuter[link] === 1) {
      hasDoor[group] = 1
      hasDoor[findGroup(groupOf, linkHead(segments, link))] = 1
    } else if (access[link] === ACCESS.private) hasPrivate[group] = 1
  }
  return (junction) => {
    const group = findGroup(groupOf, junction)
    return hasPrivate[group] === 1 && hasDoor[group] === 1
  }
}

/** Link → 1 when it is public and lies on a public way from the public network and back. */
function findOuterLinks(segments: Segments, junctionCount: number, access: Uint8Array): Uint8Array {
  const isPublic = (link: number) => access[link] === ACCESS.public
  const { first: firstOut, links } = buildAdjacency(segments, junctionCount, isPublic)
  const head = links.map((link) => linkHead(segments, link))
  const graph = { nodeCount: junctionCount, firstOut, head }
  const { component, largest } = findComponents(graph)
  const reached = fillWith(new Uint8Array(component.length), (at) => (component[at] === largest ? 1 : 0))
  const reaches = reached.slice()
  spread(reached, firstOut, head, junctionCount)
  const backwards = reverse(head, arcTails(graph), junctionCount, links.length)
  spread(reaches, backwards.first, backwards.tails, junctionCount)
  const isOuter = new Uint8Array(segments.count * 2)
  for (const link of links) {
    if (reached[linkTail(segments, link)] === 1 && reaches[linkHead(segments, link)] === 1) isOuter[link] = 1
  }
  return isOuter
}
