import type { Graph } from '../graph/graph.js'
import type { Place } from '../graph/snap.js'
import type { Weights } from './dijkstra.js'
import { endsOf, findLeg, type Leg, stepRange } from './leg.js'
import type { LegSearch } from './leg-search.js'
import { stretchMs } from './profile.js'
import { type DrivenStep, type Route, routeOf, type Searcher, stopped } from './route.js'
import type { Sliced } from './sliced.js'

/** A further route costs at most this many times the best one. */
export const MAX_STRETCH = 1.4
/** A further route shares at most this part of its cost with each route before it. */
export const MAX_SHARED = 0.75
/** Where a further route leaves the best one for a while, it costs at most this many times what it goes around. */
export const MAX_DETOUR = 2
/** Links of routes found so far cost half as much again in the next search, and double from the second time on. */
const PENALTY_STEPS = [1, 1.5, 2]
/** Searches for each further route that is asked for. */
const TRIES = 4

/**
 * Further routes through the same places that differ from the best one and from each other and are not much longer:
 * the penalty method. Links of every route found are made dearer, in both directions, and the search is repeated; what
 * it finds is taken when it keeps the three limits above. The cheapest comes first. A leg of a search is a slice.
 *
 * @param best the cheapest route through the places
 * @param searchWith a search under other weights
 * @param count most routes wanted; fewer come when there are no more that keep the limits
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 * @see Y. Chen, M. Bell, K. Bogenberger, "Reliable pretrip multipath planning", 2007
 */
export function* findAlternatives(
  searcher: Searcher,
  places: readonly Place[],
  best: Route,
  count: number,
  searchWith: (weights: Weights) => LegSearch,
): Sliced<Route[]> {
  const { profile, control } = searcher
  if (count <= 0 || best.costMs === 0) return []
  const penalised = Float64Array.from(profile.weights)
  const search = searchWith(penalised)
  const uses = new Map<number, number>()
  const accepted = [best]
  let last = best
  for (let tries = 0; tries < count * TRIES && accepted.length <= count; tries++) {
    penalise(profile.graph, profile.weights, penalised, uses, last)
    const dearer = { ...profile, weights: penalised, surcharge: surchargeOf(uses) }
    const found = yield* searchThrough(searcher, { profile: dearer, search, control }, places)
    if (control.stoppedBy !== undefined) throw stopped(control)
    if (found === undefined) break
    last = found
    if (found.costMs > best.costMs * MAX_STRETCH || isLikeOne(searcher, found, accepted)) continue
    if (hasSillyDetour(searcher, found, best)) continue
    accepted.push(found)
  }
  return accepted.slice(1).sort((a, b) => a.costMs - b.costMs)
}

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
    const end = graph.linkFirstArc[segment * 2 + 2]!
    for (let at = graph.linkFirstArc[segment * 2]!; at < end; at++) {
      const arc = graph.linkArcs[at]!
      const weightMs = weights[arc]!
      if (weightMs >= 0) penalised[arc] = Math.round(weightMs * PENALTY_STEPS[used]!)
    }
  }
}

/** The same penalties for links that are driven in part, at the ends of legs. */
function surchargeOf(uses: ReadonlyMap<number, number>): Map<number, number> {
  return new Map([...uses].map(([segment, used]) => [segment, PENALTY_STEPS[used]!]))
}

/** A route under penalties, priced without them. */
function* searchThrough(
  priced: Searcher,
  dearer: Searcher,
  places: readonly Place[],
): Sliced<Route | undefined> {
  const { profile, search, control } = dearer
  const ends = places.map((place) => endsOf(profile, place))
  const legs: Leg[] = []
  for (let i = 0; i + 1 < ends.length; i++) {
    const leg = findLeg(profile, search, ends[i]!, ends[i + 1]!, control)
    if (leg === undefined) return undefined
    legs.push({ steps: leg.steps, costMs: sum(leg.steps.map((step) => stepMs(priced, step))) })
    yield
  }
  return routeOf(priced.profile, legs)
}

/** True when too much of a route's cost lies on links of one that was taken before. */
function isLikeOne(searcher: Searcher, found: Route, accepted: readonly Route[]): boolean {
  return accepted.some((other) => {
    const links = new Set(other.legs.flat().map((step) => step.link))
    const shared = found.legs.flat().filter((step) => links.has(step.link))
    return sum(shared.map((step) => stepMs(searcher, step))) > found.costMs * MAX_SHARED
  })
}

/** True when a route leaves the best one and comes back to it farther on at more than `MAX_DETOUR` times the cost. */
function hasSillyDetour(searcher: Searcher, found: Route, best: Route): boolean {
  const { graph } = searcher.profile
  return found.legs.some((steps, leg) => {
    const bestMsAt = new Map<number, number>()
    let bestMs = 0
    for (const step of best.legs[leg]!) {
      bestMs += stepMs(searcher, step)
      bestMsAt.set(endJunction(graph, step), bestMs)
    }
    let leftAtMs = 0
    let detourMs = 0
    for (const step of steps) {
      detourMs += stepMs(searcher, step)
      const backAtMs = bestMsAt.get(endJunction(graph, step))
      if (backAtMs === undefined) continue
      const insteadMs = backAtMs - leftAtMs
      if (insteadMs > 0 && detourMs > insteadMs * MAX_DETOUR) return true
      leftAtMs = backAtMs
      detourMs = 0
    }
    return false
  })
}

/** Junction that a link leads to. */
function endJunction(graph: Graph, { link }: DrivenStep): number {
  return (link & 1) === 0 ? graph.segmentHead[link >>> 1]! : graph.segmentTail[link >>> 1]!
}

function stepMs({ profile }: Searcher, step: Leg['steps'][number]): number {
  const [fromMm, toMm] = stepRange(profile.graph, step)
  return stretchMs(profile, step.link, fromMm, toMm)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
