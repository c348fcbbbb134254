import { MAX_WHEN } from '../../routing/graph/conditions.js'
import { combine, type Decision } from '../profile/decision.js'
import { conditionalNote } from '../profile/notes.js'
import type { Cause } from '../roads/left-out.js'
import { findId, NO_INDEX } from '../roads/node-table.js'
import { NODE_STATE, type RoadData } from '../roads/read-roads.js'
import type { RawRestriction } from '../roads/restriction-relation.js'
import type { Pieces } from './pieces.js'
import { mayOpen, type Segments } from './segments.js'

/**
 * Turn restriction as links in the order of travel: after the others, the last must not (`no`) or must
 * (`only`) follow.
 */
export interface TurnRule {
  readonly kind: 'no' | 'only'
  /** two or more */
  readonly links: readonly number[]
  /** 1 while the rule is valid; undefined = always */
  readonly decision?: Decision | undefined
}

/** Ways of turn restrictions: OSM id → way. */
type WayOfId = ReadonlyMap<number, number>

/** Input for translating turn restrictions to links. */
interface Network {
  readonly roads: RoadData
  readonly pieces: Pieces
  readonly segments: Segments
  readonly wayOfId: WayOfId
  readonly ends: WayEnds
}

/** Finds the ways that restrictions name, in one pass over all ways. */
export function findRestrictedWays({ restrictions, wayId, wayCount }: RoadData): WayOfId {
  const wanted = new Set(restrictions.flatMap(({ from, viaWays, to }) => [...from, ...viaWays, ...to]))
  const wayOfId = new Map<number, number>()
  if (wanted.size === 0) return wayOfId
  for (let way = 0; way < wayCount; way++) if (wanted.has(wayId[way]!)) wayOfId.set(wayId[way]!, way)
  return wayOfId
}

/** Way → its first and last node, for via ways of restrictions. */
type WayEnds = ReadonlyMap<number, readonly [number, number]>

/**
 * Marks the nodes where restrictions apply, so that they become junctions.
 *
 * Must run before `cutRuns`, which overwrites the refs.
 *
 * @returns the ends of via ways, which are needed later
 */
export function forceJunctions(roads: RoadData, wayOfId: WayOfId): WayEnds {
  const { nodeId, nodeState, refs, wayFirstRef } = roads
  const ends = new Map<number, readonly [number, number]>()
  const force = (node: number | undefined) => {
    if (node !== undefined && node < nodeState.length) nodeState[node]! |= NODE_STATE.FORCED
  }
  // also those that become notes only: a note needs the links of its restriction
  for (const { viaNode, viaWays } of roads.restrictions) {
    if (viaNode !== undefined) force(findId(nodeId, viaNode, 0))
    for (const id of viaWays) {
      const way = wayOfId.get(id)
      if (way === undefined) continue
      const first = refs[wayFirstRef[way]!]!
      const last = refs[wayFirstRef[way + 1]! - 1]!
      ends.set(way, [first, last])
      force(first)
      force(last)
    }
  }
  return ends
}

/**
 * Translates restrictions to links. One that names a way or node that the map lacks, or that is ambiguous, is
 * left out and counted by its cause.
 *
 * @returns rules for the search, and notes for links where a restriction has conditions
 */
export function resolveRestrictions(network: Network): { rules: TurnRule[]; notes: Map<number, string[]> } {
  const { roads, segments } = network
  const rules: TurnRule[] = []
  const notes = new Map<number, string[]>()
  const { tally } = roads
  Object.assign(tally.counts, { restrictionsUsed: 0, restrictionsNoted: 0, restrictionsLeftOut: 0 })
  for (const restriction of roads.restrictions) {
    const found =
      restriction.viaNode === undefined ? overWays(network, restriction) : overNode(network, restriction)
    if (found.length === 0) {
      tally.count('restrictionsLeftOut')
      tally.leaveOut(causeOf(network, restriction), restriction.id)
    } else if (restriction.isRule) {
      tally.count('restrictionsUsed')
      rules.push(...found.map((links) => whileOpen(segments, { kind: restriction.kind, links })))
    } else if (restriction.timed.length > 0) {
      tally.count('restrictionsUsed')
      tally.count('restrictionsTimed')
      for (const timed of restriction.timed)
        rules.push(...found.map((links) => whileOpen(segments, { ...timed, links })))
    }
    if (restriction.conditions.length === 0 || found.length === 0) continue
    const isNoted = restriction.conditions.some((clause) => !restriction.obeyed.has(clause))
    if (isNoted) tally.leaveOut('restrictionsNoted', restriction.id)
    addNotes(network, restriction, found, notes)
  }
  return { rules, notes }
}

/** Returns a rule that is void while the link that must follow is closed: it would leave no way on. */
function whileOpen({ linkDecisions }: Segments, rule: TurnRule): TurnRule {
  const target = linkDecisions.get(rule.links[rule.links.length - 1]!)
  if (rule.kind === 'no' || target === undefined) return rule
  const isValid = ([valid, outcome]: number[]) => (valid === 1 && outcome !== 0 ? 1 : 0)
  const decision = combine([rule.decision ?? { when: [], out: [1] }, target], MAX_WHEN, isValid)
  return decision === undefined ? rule : { ...rule, decision }
}

/** Cause why a restriction gives no sequence of links. */
function causeOf(network: Network, { from, to, viaNode, viaWays }: RawRestriction): Cause {
  const { roads, wayOfId } = network
  const isKnown = (id: number) => wayOfId.has(id)
  if (!from.some(isKnown) || !to.some(isKnown) || !viaWays.every(isKnown)) return 'restrictionsWithoutWay'
  if (viaNode === undefined) return 'restrictionsNotConnected'
  const node = findId(roads.nodeId, viaNode, 0)
  if (node === NO_INDEX) return 'restrictionsWithoutNode'
  const isThrough =
    from.some((id) => linksAt(network, id, node, true).length > 1) ||
    to.some((id) => linksAt(network, id, node, false).length > 1)
  return isThrough ? 'restrictionsAmbiguous' : 'restrictionsNotConnected'
}

/** Adds the conditions of a restriction to the notes of the links that it comes from. */
function addNotes(
  { roads, segments }: Network,
  { conditions, obeyed }: RawRestriction,
  found: readonly number[][],
  notes: Map<number, string[]>,
): void {
  for (const links of found) {
    const target = roads.strings.text(segments.name[links[links.length - 1]! >>> 1]!)
    const subject = `conditional turn restriction${target === '' ? '' : ` into ${target}`}`
    const first = links[0]!
    const known = notes.get(first) ?? []
    for (const clause of conditions) {
      const note = conditionalNote(subject, clause, obeyed.has(clause))
      if (!known.includes(note)) known.push(note)
    }
    notes.set(first, known)
  }
}

/**
 * Link sequences of a restriction via a node: each link that arrives by `from` with each that leaves by `to`.
 */
function overNode(network: Network, restriction: RawRestriction): number[][] {
  const { roads } = network
  const node = findId(roads.nodeId, restriction.viaNode!, 0)
  if (node === NO_INDEX || (roads.nodeState[node]! & NODE_STATE.CLOSED) !== 0) return []
  const sequences: number[][] = []
  for (const from of restriction.from) {
    const arriving = linksAt(network, from, node, true)
    if (restriction.isUTurn && restriction.to.includes(from)) {
      // back along the same way: also where the way runs through the node and arrives from both sides
      for (const link of arriving) if (isOpen(network, link ^ 1)) sequences.push([link, link ^ 1])
      continue
    }
    for (const to of restriction.to) {
      const leaving = linksAt(network, to, node, false)
      // two candidates: the way runs through the node, and the restriction does not say which side it means
      if (arriving.length === 1 && leaving.length === 1) sequences.push([arriving[0]!, leaving[0]!])
    }
  }
  return sequences
}

/** Link sequences of a restriction via ways, in whichever direction each of them is drawn. */
function overWays(network: Network, restriction: RawRestriction): number[][] {
  const sequences: number[][] = []
  const [firstVia = -1] = restriction.viaWays
  const ends = network.ends.get(network.wayOfId.get(firstVia) ?? -1)
  if (ends === undefined) return []
  for (const start of new Set(ends)) {
    const via = followWays(network, restriction.viaWays, start)
    if (via === undefined) continue
    for (const from of restriction.from) {
      for (const to of restriction.to) {
        const arriving = linksAt(network, from, start, true)
        const leaving = linksAt(network, to, via.end, false)
        if (arriving.length === 1 && leaving.length === 1) {
          sequences.push([arriving[0]!, ...via.links, leaving[0]!])
        }
      }
    }
  }
  return sequences
}

/** Links from a node along consecutive ways; undefined where one is closed or not connected. */
function followWays(
  network: Network,
  ids: readonly number[],
  start: number,
): { links: number[]; end: number } | undefined {
  const links: number[] = []
  let at = start
  for (const id of ids) {
    const way = network.wayOfId.get(id)
    const ends = network.ends.get(way ?? -1)
    if (way === undefined || ends === undefined || !ends.includes(at)) return undefined
    const isAlong = at === ends[0]
    const driven = linksOf(network, way, isAlong)
    if (driven.length === 0 || !driven.every((link) => isOpen(network, link))) return undefined
    for (const link of driven) if (links[links.length - 1] !== link) links.push(link)
    at = isAlong ? ends[1] : ends[0]
  }
  return { links, end: at }
}

/** All links of a way in the order of travel. */
function linksOf({ pieces, segments }: Network, way: number, isAlong: boolean): number[] {
  const links: number[] = []
  for (let piece = firstPiece(pieces, way); pieces.way[piece] === way; piece++) {
    links.push(isAlong ? segments.pieceLink[piece]! : segments.pieceLink[piece]! ^ 1)
  }
  return isAlong ? links : links.reverse()
}

/** Open links of a way that arrive at a node, or leave it; where none is open, those that are at times. */
function linksAt(
  { pieces, segments, wayOfId }: Network,
  wayId: number,
  node: number,
  isArriving: boolean,
): number[] {
  const way = wayOfId.get(wayId)
  const links: number[] = []
  if (way === undefined) return links
  for (let piece = firstPiece(pieces, way); pieces.way[piece] === way; piece++) {
    const along = segments.pieceLink[piece]!
    const arrivesAlong = pieces.nodes[pieces.to[piece]!] === node
    const arrivesAgainst = pieces.nodes[pieces.from[piece]!] === node
    if (arrivesAlong) links.push(isArriving ? along : along ^ 1)
    if (arrivesAgainst) links.push(isArriving ? along ^ 1 : along)
  }
  const open = links.filter((link) => segments.linkSpeed[link]! > 0)
  return open.length > 0 ? open : links.filter((link) => mayOpen(segments, link))
}

function isOpen({ segments }: Network, link: number): boolean {
  return mayOpen(segments, link)
}

/** First piece of a way, by binary search: pieces are in the order of their ways. */
function firstPiece({ way, count }: Pieces, wanted: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (way[middle]! < wanted) low = middle + 1
    else high = middle
  }
  return low
}
