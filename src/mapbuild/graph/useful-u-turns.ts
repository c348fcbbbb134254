import FlatQueue from 'flatqueue'
import { ENDS_ONLY } from '../../routing/graph/graph.js'
import type { Segments } from '../network/segments.js'
import type { TurnRule } from '../network/turn-rules.js'
import { type Adjacency, linkHead } from './adjacency.js'
import { type Automaton, ROOT } from './automaton.js'

/** Most states of one search: a way round a rule that is longer is left to the search for the route. */
const MAX_STATES = 4000
/** Risks under which U-turns are looked for: share of the segments that have it, and what they cost then. */
const RISKS = [
  { share: 0, factor: 1 },
  { share: 0.1, factor: 11 },
  { share: 0.3, factor: 11 },
  { share: 0.1, factor: 101 },
] as const

/** Roads, rules, and where traffic may turn round. */
interface Roads {
  readonly segments: Segments
  readonly adjacency: Adjacency
  readonly rules: Automaton
  /** of `findTurningPlaces` */
  readonly mayTurn: Uint8Array
}

/**
 * Finds U-turns that are forbidden and that would pay: from the place where a rule has begun, the cheapest
 * way to each link that the rule forbids is searched for, as it would be driven if turning round were free.
 * Each forbidden U-turn on it is banned, and the search is repeated, until the way has none. That way stays
 * the cheapest whatever is banned later, so one pass over the rules is enough. The same is done under some
 * risks, which make other ways cheapest.
 *
 * Cost: some 0.1 ms a rule and U-turn.
 *
 * @param turnRules turn restrictions, as in `roads.rules`
 * @param banned links at whose ends turning is banned already; those found are added
 */
export function banUsefulUTurns(roads: Roads, turnRules: readonly TurnRule[], banned: Set<number>): void {
  for (const risk of RISKS.keys()) {
    for (const rule of turnRules) {
      const prefix = rule.links.slice(0, -1)
      const memory = prefix.reduce((state, link) => roads.rules.next(state, link), ROOT)
      const last = prefix[prefix.length - 1]!
      for (const target of targetsOf(roads, rule, last)) {
        while (banOnWay(roads, { last, memory, target, risk }, banned));
      }
    }
  }
}

/** Links that a rule forbids after its prefix. */
function targetsOf({ segments, adjacency }: Roads, { kind, links }: TurnRule, last: number): number[] {
  const named = links[links.length - 1]!
  if (kind === 'no') return named === (last ^ 1) ? [] : [named]
  const onward = [...adjacency.linksOut(linkHead(segments, last))]
  return onward.filter((link) => link !== named && link !== (last ^ 1))
}

/** A search: from the state behind a link to the entry of another. */
interface Way {
  readonly last: number
  readonly memory: number
  readonly target: number
  readonly risk: number
}

/** Bans the forbidden U-turns on the cheapest way. @returns true when there was one */
function banOnWay(roads: Roads, way: Way, banned: Set<number>): boolean {
  let isFound = false
  const links = cheapestWay(roads, way, banned)
  for (let i = 1; i < links.length; i++) {
    const before = links[i - 1]!
    if (links[i] !== (before ^ 1) || roads.mayTurn[before] === 1) continue
    banned.add(before)
    isFound = true
  }
  return isFound
}

/** Links of the cheapest way, both ends included; empty when there is none within the limit. Dijkstra. */
function cheapestWay(roads: Roads, { last, memory, target, risk }: Way, banned: Set<number>): number[] {
  const { segments, adjacency, rules } = roads
  const linkCount = segments.count * 2
  const cost = new Map<number, number>()
  const parent = new Map<number, number>()
  const queue = new FlatQueue<number>()
  const first = memory * linkCount + last
  cost.set(first, 0)
  queue.push(first, 0)
  for (let settled = 0; queue.length > 0 && settled < MAX_STATES; settled++) {
    const stateMs = queue.peekValue()!
    const state = queue.pop()!
    if (stateMs > cost.get(state)!) continue
    const link = state % linkCount
    if (link === target && state !== first) return readWay(parent, state, linkCount)
    const at = Math.floor(state / linkCount)
    const isPublic = (segments.linkFlags[link]! & ENDS_ONLY) === 0
    for (const next of adjacency.linksOut(linkHead(segments, link))) {
      if (next === (link ^ 1) && banned.has(link)) continue
      if (!rules.isAllowed(at, next)) continue
      // a route on its way does not enter a private road
      if (isPublic && next !== target && (segments.linkFlags[next]! & ENDS_ONLY) !== 0) continue
      const nextState = rules.next(at, next) * linkCount + next
      // the target is entered, not driven
      const nextMs = next === target ? stateMs : stateMs + linkMs(segments, next, risk)
      if (nextMs >= (cost.get(nextState) ?? Number.POSITIVE_INFINITY)) continue
      cost.set(nextState, nextMs)
      parent.set(nextState, state)
      queue.push(nextState, nextMs)
    }
  }
  return []
}

function readWay(parent: ReadonlyMap<number, number>, end: number, linkCount: number): number[] {
  const links: number[] = []
  for (let state: number | undefined = end; state !== undefined; state = parent.get(state))
    links.push(state % linkCount)
  return links.reverse()
}

/** Driving time under a risk, milliseconds. */
function linkMs({ lengthMm, linkSpeed }: Segments, link: number, risk: number): number {
  const { share, factor } = RISKS[risk]!
  const freeMs = (lengthMm[link >>> 1]! * 36) / linkSpeed[link]!
  return isRisky(link >>> 1, risk, share) ? freeMs * factor : freeMs
}

/** Chooses segments by a hash of their numbers (xorshift and multiplication), so that builds repeat. */
function isRisky(segment: number, risk: number, share: number): boolean {
  let hash = Math.imul(segment + 1, 0x9e3779b1) ^ Math.imul(risk, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return ((hash ^ (hash >>> 12)) >>> 0) / 2 ** 32 < share
}
