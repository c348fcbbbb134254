import type { Snap } from '../graph/snap.js'
import { findAlternatives } from './alternatives.js'
import type { Order } from './cost-matrix.js'
import type { Control, Weights } from './dijkstra.js'
import type { LegSearch } from './leg-search.js'
import type { Profile } from './profile.js'
import { findOrder, findRoute, inOrder, type Route } from './route.js'
import type { SlicedTask } from './sliced-task.js'
import { findTimedRoute } from './time-dependent.js'
import type { Timeline } from './timed-search.js'

/** A route request on one map, as numbers. */
export interface RouteQuery {
  /** start, via points as given, goal */
  readonly snaps: readonly Snap[]
  /** at the departure */
  readonly profile: Profile
  /** profiles over time, for a time-dependent departure */
  readonly timeline?: Timeline | undefined
  /** visit the via points in the cheapest order instead of the order given */
  readonly reorder: boolean
  /** number of routes wanted; 1 = the best one alone */
  readonly alternatives: number
  readonly control: Control
  searchWith(weights: Weights): LegSearch
}

/** Answer to a route request, as numbers. */
export interface Solution {
  /** undefined = the via points are visited in the order given */
  readonly order: Order | undefined
  readonly best: Route
  /** further routes, cheapest first; undefined when only one route was wanted */
  readonly alternatives: readonly Route[] | undefined
}

/**
 * A leg without a path: its number in the order of visit, and the positions of its ends in
 * `RouteQuery.snaps`.
 */
export interface NoRoute {
  readonly blockedLeg: number
  readonly from: number
  readonly to: number
}

/**
 * Answers a route request. A slice is one leg: a request may have a hundred legs, five times over.
 *
 * @returns equal answers to equal requests on equal data
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* solveRoute(query: RouteQuery): SlicedTask<Solution | NoRoute> {
  const { snaps, profile, timeline, control, searchWith } = query
  const searcher = { profile, search: searchWith(profile.weights), control }
  const given = snaps.map((_, position) => position)
  const order = query.reorder ? findOrder(searcher, snaps) : undefined
  if (order !== undefined && 'blockedLeg' in order) return noRoute(order.blockedLeg, given)
  const visited = order === undefined ? snaps : inOrder(snaps, order.via)
  const best =
    timeline === undefined
      ? yield* findRoute(searcher, visited)
      : yield* findTimedRoute(timeline, visited, control)
  if ('blockedLeg' in best)
    return noRoute(best.blockedLeg, order === undefined ? given : inOrder(given, order.via))
  const alternatives =
    query.alternatives > 1
      ? yield* findAlternatives(searcher, visited, best, query.alternatives - 1, searchWith)
      : undefined
  // with a timeline the order was chosen by the costs at the departure: good, but not proven optimal
  const known = order && { ...order, isOptimal: order.isOptimal && timeline === undefined }
  return { order: known, best, alternatives }
}

/** @param visited positions of the points in the order of visit */
function noRoute(blockedLeg: number, visited: readonly number[]): NoRoute {
  return { blockedLeg, from: visited[blockedLeg]!, to: visited[blockedLeg + 1]! }
}
