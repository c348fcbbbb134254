import { flagsOf, MAX_WHEN, speedOf } from '../../routing/graph/conditions.js'
import { ENDS_ONLY, NO_ARC } from '../../routing/graph/graph.js'
import { fillWith } from '../arrays/fill-with.js'
import { createGrowing, filled, push } from '../arrays/growing.js'
import { sortOrder } from '../arrays/sort-order.js'
import type { Segments } from '../network/segments.js'
import { combine, type Decision, usualOutcome } from '../profile/decision.js'
import { type Adjacency, linkHead, linkTail } from './adjacency.js'
import { type Automaton, ROOT } from './automaton.js'
import type { TurnPricing } from './turn-prices.js'

/** Nodes and arcs, as `Graph` has them. */
export interface Expansion {
  readonly nodeCount: number
  readonly arcCount: number
  readonly firstOut: Uint32Array
  readonly head: Uint32Array
  readonly arcLink: Uint32Array
  readonly nodeJunction: Uint32Array
  readonly linkStartArc: Uint32Array
  readonly linkFirstArc: Uint32Array
  readonly linkArcs: Uint32Array
  /** arc → price of the turn into its link, milliseconds; undefined without prices */
  readonly arcMs?: Uint32Array | undefined
  /** arc → 1 while it is closed, for arcs that conditions close; links have outcomes of their own. Ascending */
  readonly arcBans: ReadonlyMap<number, Decision>
  /** link → arc by which a route begins while the link is public, and while it is private */
  readonly startArcs: readonly [whilePublic: Uint32Array, whilePrivate: Uint32Array]
}

/** Use of private roads by a route so far: on those of its start, on public roads, on those of its goal. */
const MODE = { start: 0, public: 1, end: 2 } as const
const MODES = 3
/** Uses of a link: positions in lists, and bits of `usesOf`. */
const USE: { readonly public: number; readonly private: number } = { public: 0, private: 1 }
const USES = [USE.public, USE.private]
const FORBIDDEN = -1
const UNKNOWN = -1

/**
 * Makes a node of every junction and every state in which a route can be there: a state of the turn rules,
 * and a mode of private roads. Most junctions have one node. Nodes are found from the links by which routes
 * begin, then sorted by junction, so that they are in the order of the junctions.
 *
 * Cost: linear in nodes and arcs.
 *
 * @param adjacency of the links that are open at any time
 * @param isPrivate link → 1 where it may only be used at the ends of a route, at any time
 * @param pricing prices of turns; the automaton tells the links that they depend on
 */
export function expandNodes(
  segments: Segments,
  adjacency: Adjacency,
  automaton: Automaton,
  isPrivate: Uint8Array,
  pricing?: TurnPricing,
): Expansion {
  const found = discover({ segments, adjacency, automaton, isPrivate })
  // stable: nodes of one junction keep the order in which they were found
  const order = sortOrder(found.nodeJunction)
  const rank = new Uint32Array(order.length)
  for (let i = 0; i < order.length; i++) rank[order[i]!] = i
  const nodeCount = order.length
  const arcCount = found.head.length
  const firstOut = new Uint32Array(nodeCount + 1)
  const head = new Uint32Array(arcCount)
  const arcLink = new Uint32Array(arcCount)
  const nodeJunction = new Uint32Array(nodeCount)
  const arcMs = pricing === undefined ? undefined : new Uint32Array(arcCount)
  const arcBans = new Map<number, Decision>()
  let arc = 0
  for (let node = 0; node < nodeCount; node++) {
    const from = order[node]!
    nodeJunction[node] = found.nodeJunction[from]!
    for (let at = found.firstOut[from]!; at < found.firstOut[from + 1]!; at++, arc++) {
      head[arc] = rank[found.head[at]!]!
      const link = found.arcLink[at]!
      arcLink[arc] = link
      const ban = found.arcBans.get(at)
      if (ban !== undefined) arcBans.set(arc, ban)
      if (arcMs === undefined || pricing === undefined) continue
      const last = automaton.lastLink(Math.floor(found.nodeState[from]! / MODES))
      arcMs[arc] = last < 0 ? pricing.entryMs(link) : pricing.turnMs(last, link)
    }
    firstOut[node + 1] = arc
  }
  const byLink = groupByLink(arcLink, segments.count * 2)
  const startArcsOf = (use: number) => findStartArcs(found.startNodes[use]!, rank, head, byLink)
  const startArcs = [startArcsOf(USE.public), startArcsOf(USE.private)] as const
  return {
    nodeCount,
    arcCount,
    firstOut,
    head,
    arcLink,
    nodeJunction,
    linkStartArc: usualStartArcs(segments, startArcs, isPrivate),
    ...byLink,
    arcMs,
    arcBans,
    startArcs,
  }
}

/** Roads and rules to make nodes of. */
interface Roads {
  readonly segments: Segments
  readonly adjacency: Adjacency
  readonly automaton: Automaton
  readonly isPrivate: Uint8Array
}

/**
 * Finds the nodes breadth first from the ends of all links by which a route may begin, and the arcs that leave
 * them. Where no arc drives a link as a route does that begins by it, there is a node before it that no arc
 * enters.
 */
function discover({ segments, adjacency, automaton, isPrivate }: Roads) {
  const { junctionCount, first, links } = adjacency
  const { nodeJunction, nodeState, nodeOf } = createNodes(junctionCount)
  const firstOut = createGrowing(Uint32Array, junctionCount + 16)
  const head = createGrowing(Uint32Array, links.length + 16)
  const arcLink = createGrowing(Uint32Array, links.length + 16)
  const uses = fillWith(new Uint8Array(isPrivate.length), (link) => usesOf(segments, isPrivate, link))
  // use → link → node at its end where a route is that began by it
  const startNodes = USES.map((use) =>
    fillWith(new Int32Array(uses.length), (link) =>
      (uses[link]! & (1 << use)) === 0
        ? UNKNOWN
        : nodeOf(linkHead(segments, link), automaton.next(ROOT, link), START_MODE[use]!),
    ),
  )
  const hasStart = USES.map(() => new Uint8Array(isPrivate.length))
  const arcBans = new Map<number, Decision>()
  const leave = (node: number) => {
    push(firstOut, head.length)
    const junction = nodeJunction.array[node]!
    const state = nodeState.array[node]!
    const memory = Math.floor(state / MODES)
    // links are ascending, and so are the arcs of a node
    for (let at = first[junction]!; at < first[junction + 1]!; at++) {
      const link = links[at]!
      const ban = memory === ROOT ? undefined : automaton.banOf(memory, link)
      if (ban !== undefined && ban.when.length === 0) continue // at all times
      for (let use = USE.public; use <= USE.private; use++) {
        const mode =
          (uses[link]! & (1 << use)) === 0 ? FORBIDDEN : nextMode(state % MODES, use === USE.private)
        if (mode === FORBIDDEN) continue
        const end = nodeOf(linkHead(segments, link), automaton.next(memory, link), mode)
        if (end === startNodes[use]![link]) hasStart[use]![link] = 1
        if (ban !== undefined || uses[link] === BOTH_USES) banArc(head.length, link, use, ban)
        push(head, end)
        push(arcLink, link)
      }
    }
  }
  const banArc = (arc: number, link: number, use: number, ban: Decision | undefined) => {
    const decision = uses[link] === BOTH_USES ? arcBan(segments, link, use, ban) : ban
    if (decision !== undefined) arcBans.set(arc, decision)
  }
  let left = 0
  for (; left < nodeJunction.length; left++) leave(left)
  for (let link = 0; link < isPrivate.length; link++) {
    for (const use of USES) {
      if ((uses[link]! & (1 << use)) === 0 || hasStart[use]![link] === 1) continue
      nodeOf(linkTail(segments, link), ROOT, START_MODE[use]!)
      for (; left < nodeJunction.length; left++) leave(left)
    }
  }
  push(firstOut, head.length)
  return {
    nodeJunction: filled(nodeJunction),
    firstOut: filled(firstOut),
    head: filled(head),
    arcLink: filled(arcLink),
    nodeState: filled(nodeState),
    startNodes,
    arcBans,
  }
}

/** Creates the list of nodes, and the function that finds one, or adds it. */
function createNodes(junctionCount: number) {
  const nodeJunction = createGrowing(Uint32Array, junctionCount + 16)
  const nodeState = createGrowing(Uint32Array, junctionCount + 16) // memory * MODES + mode
  const baseNode = new Int32Array(junctionCount * MODES).fill(UNKNOWN)
  const restrictedNode = new Map<number, number>()
  const nodeOf = (junction: number, memory: number, mode: number): number => {
    // a state of turn rules occurs at one junction only: the head of its last link
    const known =
      memory === ROOT
        ? baseNode[junction * MODES + mode]!
        : (restrictedNode.get(memory * MODES + mode) ?? UNKNOWN)
    if (known !== UNKNOWN) return known
    const node = nodeJunction.length
    push(nodeJunction, junction)
    push(nodeState, memory * MODES + mode)
    if (memory === ROOT) baseNode[junction * MODES + mode] = node
    else restrictedNode.set(memory * MODES + mode, node)
    return node
  }
  return { nodeJunction, nodeState, nodeOf }
}

/** Use of a link → mode of a route that begins by it. */
const START_MODE = [MODE.public, MODE.start] as const
const BOTH_USES = 0b11

/** Bits of the uses that a link has at some time; 0 = it is never open. */
function usesOf({ linkSpeed, linkDecisions }: Segments, isPrivate: Uint8Array, link: number): number {
  const decision = linkDecisions.get(link)
  if (decision === undefined) return linkSpeed[link] === 0 ? 0 : 1 << isPrivate[link]!
  const open = decision.out.filter((outcome) => speedOf(outcome) > 0)
  // a drive that no route passes through needs no nodes of its own
  if (isPrivate[link] === 0) return open.length === 0 ? 0 : 1 << USE.public
  return open.reduce((bits, outcome) => bits | (1 << useOf(outcome)), 0)
}

function useOf(outcome: number): number {
  return (flagsOf(outcome) & ENDS_ONLY) === 0 ? USE.public : USE.private
}

/** Returns when an arc is closed that drives a link in one of its two uses: while it has the other, or is banned. */
function arcBan(
  { linkDecisions }: Segments,
  link: number,
  use: number,
  ban: Decision | undefined,
): Decision | undefined {
  const outcomes = linkDecisions.get(link)!
  const other = {
    when: outcomes.when,
    out: outcomes.out.map((outcome) => (useOf(outcome) === use ? 0 : 1)),
  }
  if (ban === undefined) return other
  return combine([other, ban], MAX_WHEN, (closed) => (closed.includes(1) ? 1 : 0)) ?? other
}

/** Link → arc by which a route begins while no condition holds. */
function usualStartArcs(
  { linkSpeed, linkDecisions }: Segments,
  startArcs: readonly Uint32Array[],
  isPrivate: Uint8Array,
): Uint32Array {
  return fillWith(new Uint32Array(isPrivate.length), (link) => {
    const isEndsOnly = isPrivate[link]!
    if (linkSpeed[link] === 0) return NO_ARC
    const decision = linkDecisions.get(link)
    const use = decision === undefined ? isEndsOnly : useOf(usualOutcome(decision))
    const [arc, other] = [startArcs[use]![link]!, startArcs[1 - use]![link]!]
    return arc === NO_ARC ? other : arc
  })
}

/**
 * Mode after a link. Private roads come first and last: a route that left public roads may not return to
 * them.
 */
function nextMode(mode: number, isPrivate: boolean): number {
  if (isPrivate) return mode === MODE.start ? MODE.start : MODE.end
  return mode === MODE.end ? FORBIDDEN : MODE.public
}

/** Link → its first arc to the node where a route is that began by it. */
function findStartArcs(
  startNode: Int32Array,
  rank: Uint32Array,
  head: Uint32Array,
  { linkFirstArc, linkArcs }: Pick<Expansion, 'linkFirstArc' | 'linkArcs'>,
): Uint32Array {
  const startArc = new Uint32Array(startNode.length).fill(NO_ARC)
  for (let link = 0; link < startNode.length; link++) {
    if (startNode[link] === UNKNOWN) continue
    const wanted = rank[startNode[link]!]!
    const arcs = linkArcs.subarray(linkFirstArc[link]!, linkFirstArc[link + 1]!)
    const arc = arcs.find((one) => head[one] === wanted)
    if (arc === undefined) throw new Error(`link ${link} has no arc by which a route begins`)
    startArc[link] = arc
  }
  return startArc
}

/** Link → its arcs, ascending. Counting sort. */
function groupByLink(
  arcLink: Uint32Array,
  linkCount: number,
): { linkFirstArc: Uint32Array; linkArcs: Uint32Array } {
  const linkFirstArc = new Uint32Array(linkCount + 1)
  for (let arc = 0; arc < arcLink.length; arc++) linkFirstArc[arcLink[arc]! + 1]!++
  for (let link = 0; link < linkCount; link++) linkFirstArc[link + 1]! += linkFirstArc[link]!
  const at = linkFirstArc.slice()
  const linkArcs = new Uint32Array(arcLink.length)
  for (let arc = 0; arc < arcLink.length; arc++) linkArcs[at[arcLink[arc]!]!++] = arc
  return { linkFirstArc, linkArcs }
}
