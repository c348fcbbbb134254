import type { Graph } from '../graph/graph.js'
import { numberAt } from '../graph/paged.js'
import type { Snap } from '../graph/snap.js'
import type { Weights } from './dijkstra.js'
import { findLeg, type Leg, type Step, stepRange } from './leg.js'
import type { LegSearch } from './leg-search.js'
import { endsAfter, endsOf } from './link-ends.js'
import { type Profile, partMs } from './profile.js'
import { type DrivenStep, type Route, routeOf, type Searcher, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'

/** Most that a further route costs, as a multiple of the best one. */
export const MAX_COST_RATIO = 1.4
/** Most of its cost that a further route shares with any route before it. */
export const MAX_SHARED = 0.75
/** Most that a detour costs, as a multiple of the part of the best route that it replaces. */
const MAX_DETOUR = 2
/**
 * Number of routes found that use a segment → factor on its cost in the next search; the last factor holds
 * on.
 */
const PENALTY_STEPS = [1, 1.5, 2]
/** Most searches for each further route wanted. */
const TRIES = 4

/**
 * Finds further routes through the same points that differ from the best one and from each other and are not
 * much longer, by the penalty method: the segments of every route found get a higher cost, in both
 * directions, and the search is repeated. A route is accepted when it keeps the three limits above. A slice
 * is one leg of a search.
 *
 * @param best cheapest route through the points
 * @param searchWith creates a search under other weights
 * @param count most routes wanted
 * @returns cheapest first; fewer than wanted when no more keep the limits
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 * @see Y. Chen, M. Bell, K. Bogenberger, "Reliable pretrip multipath planning", 2007
 */
export function* findAlternatives(
  searcher: Searcher,
  snaps: readonly Snap[],
  best: Route,
  count: number,
  searchWith: (weights: Weights) => LegSearch,
): SlicedTask<Route[]> {
  const { profile, control } = searcher
  if (best.costMs === 0) return []
  // a copy: the weights of the profile are shared with other searches
  const penalised = Float64Array.from(profile.weights)
  // penalties only add to costs, so those without them are lower bounds
  const { potentialTo } = searcher.search
  const search = { ...searchWith(penalised), potentialTo }
  // segment → number of routes found that use it, at most the last index of `PENALTY_STEPS`
  const uses = new Map<number, number>()
  const accepted = [best]
  let last = best
  for (let tries = 0; tries < count * TRIES && accepted.length <= count; tries++) {
    // the route found last is penalised whether it was accepted or not, so that each search finds another one
    penalise(profile.graph, profile.weights, penalised, uses, last)
    const penalisedProfile = { ...profile, weights: penalised, surcharge: surchargeOf(uses) }
    const found = yield* searchThrough(searcher, { profile: penalisedProfile, search, control }, snaps)
    throwIfStopped(control)
    // no test: penalties close no road, and a limit has thrown above
    if (found === undefined) break
    last = found
    // costs are compared without penalties
    if (found.costMs > best.costMs * MAX_COST_RATIO || sharesTooMuch(searcher, found, accepted)) continue
    if (hasLongDetour(searcher, found, best)) continue
    accepted.push(found)
  }
  return accepted.slice(1).sort((a, b) => a.costMs - b.costMs)
}

/** Counts a route's segments as used, and sets their penalised weights. */
function penalise(
  graph: Graph,
  weights: Weights,
  penalised: Float64Array,
  uses: Map<number, number>,
  route: Route,
): void {
  const segments = new Set(route.legs.flat().map((step) => step.link >>> 1))
  for (const segment of segments) {
    const used = Math.min((uses.get(segment) ?? 0) + 1, PENALTY_STEPS.length - 1)
    uses.set(segment, used)
    // both links of a segment are adjacent, so one range of `linkArcs` holds the arcs of both directions
    const end = numberAt(graph.linkFirstArc, segment * 2 + 2)
    for (let at = numberAt(graph.linkFirstArc, segment * 2); at < end; at++) {
      const arc = numberAt(graph.linkArcs, at)
      const weightMs = weights[arc]!
      if (weightMs >= 0) penalised[arc] = Math.round(weightMs * PENALTY_STEPS[used]!)
    }
  }
}

/** Returns the same penalties for links driven in part, at the ends of legs. */
function surchargeOf(uses: ReadonlyMap<number, number>): Map<number, number> {
  return new Map([...uses].map(([segment, used]) => [segment, PENALTY_STEPS[used]!]))
}

/** Searches a route under penalties and measures it without them. */
function* searchThrough(
  { profile: plain }: Searcher,
  penalised: Searcher,
  snaps: readonly Snap[],
): SlicedTask<Route | undefined> {
  const { profile, search, control } = penalised
  const legs: Leg[] = []
  let from = endsOf(profile, snaps[0]!)
  for (let i = 0; i + 1 < snaps.length; i++) {
    const to = endsOf(profile, snaps[i + 1]!)
    // the direct leg within one link competes under the same penalties, through `surcharge`
    const leg = findLeg(profile, search, from, to, control)
    if (leg === undefined) return undefined
    legs.push({ ...leg, costMs: sum(leg.steps.map((step) => stepMs(plain, step))) })
    from = endsAfter(profile, from, to, leg.arrival)
    yield
  }
  return routeOf(plain, legs)
}

/** Returns true when too much of a route's cost lies on links of one route accepted before. */
function sharesTooMuch({ profile }: Searcher, found: Route, accepted: readonly Route[]): boolean {
  return accepted.some((other) => {
    const links = new Set(other.legs.flat().map((step) => step.link))
    const shared = found.legs.flat().filter((step) => links.has(step.link))
    return sum(shared.map((step) => stepMs(profile, step))) > found.costMs * MAX_SHARED
  })
}

/**
 * Returns true when a route leaves the best one and returns to it farther on at more than `MAX_DETOUR` times
 * its cost.
 */
function hasLongDetour({ profile }: Searcher, found: Route, best: Route): boolean {
  const { graph } = profile
  return found.legs.some((steps, leg) => {
    // junction → cost of the best route from the start of the leg to there
    const bestMsAt = new Map<number, number>()
    let bestMs = 0
    for (const step of best.legs[leg]!) {
      bestMs += stepMs(profile, step)
      bestMsAt.set(endJunction(graph, step), bestMs)
    }
    // where the route was last on the best one, and its own cost since then
    let leftAtMs = 0
    let detourMs = 0
    for (const step of steps) {
      detourMs += stepMs(profile, step)
      const backAtMs = bestMsAt.get(endJunction(graph, step))
      if (backAtMs === undefined) continue
      const insteadMs = backAtMs - leftAtMs
      // a return to a point farther back replaces no part of the best route
      if (insteadMs > 0 && detourMs > insteadMs * MAX_DETOUR) return true
      leftAtMs = backAtMs
      detourMs = 0
    }
    return false
  })
}

/** Returns the junction at the end of a step's link. */
function endJunction(graph: Graph, { link }: DrivenStep): number {
  return (link & 1) === 0 ? graph.segmentHead[link >>> 1]! : graph.segmentTail[link >>> 1]!
}

function stepMs(profile: Profile, step: Step): number {
  const [fromMm, toMm] = stepRange(profile.graph, step)
  return partMs(profile, step.link, fromMm, toMm) + step.turnMs
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
