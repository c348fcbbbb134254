import {
  featuresOf,
  nearestNodeId,
  type RouteFeature,
  type RouteTotals,
  totalsOf,
} from '../../route-answer/answer.js'
import { legText } from '../../route-answer/feature-text.js'
import { routeKml } from '../../route-answer/kml.js'
import type { Graph } from '../graph/graph.js'
import type { AskedPoint, NamedGraph } from '../graph/places.js'
import type { Place } from '../graph/snap.js'
import { findAlternatives } from './alternatives.js'
import type { Order } from './cost-matrix.js'
import type { Control, Weights } from './dijkstra.js'
import type { LegSearch } from './leg-search.js'
import type { Profile } from './profile.js'
import { findOrder, findRouteSliced, inOrder, type Route } from './route.js'
import { runAtOnce, type Sliced } from './sliced.js'
import { findTimedRouteSliced, type Timetable } from './time-dependent.js'

/** What a route is asked for, beside its points and prices. */
export interface RouteWishes {
  /** visit the via points in the cheapest order instead of the order given */
  readonly reorder: boolean
  readonly withKml: boolean
  /** routes in all; 1 = the best one alone */
  readonly alternatives: number
}

/** The roads and their prices, for one request. */
export interface Pricing {
  readonly map: NamedGraph
  /** at the departure */
  readonly profile: Profile
  /** for `depart: time_dependent` */
  readonly timetable?: Timetable | undefined
  searchWith(weights: Weights): LegSearch
}

/** One route as the wire has it. */
export type RouteAnswer = { kml?: string } & RouteTotals & {
    start_node: number
    end_node: number
    [routeKey: string]: unknown
  }

/**
 * Finds and words the answer to a route request.
 *
 * @param points start, via points as given, goal
 * @param places the same points on the road
 * @param routeKey `service.routeKey`: name of the FeatureCollection in the result
 * @returns JSON text of a `RouteAnswer`; equal requests on equal data give equal bytes
 * @throws AppError NO_ROUTE, CANCELLED, SEARCH_TOO_LARGE
 */
export function solveRoute(
  wishes: RouteWishes,
  pricing: Pricing,
  points: readonly AskedPoint[],
  places: readonly Place[],
  control: Control,
  routeKey: string,
): string {
  return runAtOnce(solveRouteSliced(wishes, pricing, points, places, control, routeKey))
}

/** The same in slices: a request may be for a hundred legs, five times over. */
export function* solveRouteSliced(
  wishes: RouteWishes,
  pricing: Pricing,
  points: readonly AskedPoint[],
  places: readonly Place[],
  control: Control,
  routeKey: string,
): Sliced<string> {
  const { profile, timetable, searchWith, map } = pricing
  const searcher = { profile, search: searchWith(profile.weights), control }
  const order = wishes.reorder ? findOrder(searcher, places, points) : undefined
  const visited = order === undefined ? places : inOrder(places, order)
  const asked = order === undefined ? points : inOrder(points, order)
  const best =
    timetable === undefined
      ? yield* findRouteSliced(searcher, visited, asked)
      : yield* findTimedRouteSliced(timetable, visited, asked, control)
  const word = (route: Route) => wordRoute(map.graph, route, asked, wishes.withKml, routeKey)
  const answer = { ...(yield* word(best)), ...wordOrder(order, timetable !== undefined) }
  if (wishes.alternatives <= 1) return textOf(answer)
  const others = yield* findAlternatives(searcher, visited, best, wishes.alternatives - 1, searchWith)
  const alternatives: string[] = []
  for (const other of others) alternatives.push(textOf(yield* word(other)))
  return textOf({ ...answer, alternatives: `[${alternatives.join(',')}]` })
}

/** JSON text of each value, by key. */
type Worded = Record<string, string>

/** Put together by `+`, which refers to long texts, where `join` would copy them. */
function textOf(worded: Worded): string {
  let text = '{'
  for (const [key, value] of Object.entries(worded)) {
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${value}`
  }
  return `${text}}`
}

/** A leg a slice. */
function* wordRoute(
  graph: Graph,
  route: Route,
  points: readonly AskedPoint[],
  withKml: boolean,
  routeKey: string,
): Sliced<Worded> {
  const legs: string[] = []
  for (const steps of route.legs) {
    yield
    if (steps.length > 0) legs.push(legText(graph, steps))
  }
  yield
  const totals = totalsOf(graph, route)
  const [start, goal] = [points[0]!, points[points.length - 1]!]
  return {
    ...(withKml
      ? { kml: JSON.stringify(kmlOf(graph, route, featuresOf(graph, route), totals, points)) }
      : {}),
    [routeKey]: `{"type":"FeatureCollection","features":[${legs.join(',')}]}`,
    ...wordNumbers({ ...totals }),
    start_node: String(nearestNodeId(graph, start.lng, start.lat)),
    end_node: String(nearestNodeId(graph, goal.lng, goal.lat)),
  }
}

function wordNumbers(values: Record<string, number>): Worded {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]))
}

function kmlOf(
  graph: Graph,
  route: Route,
  features: readonly RouteFeature[],
  totals: RouteTotals,
  points: readonly AskedPoint[],
): string {
  let from = 0
  const legs = route.legs.map((steps) => {
    const leg = features.slice(from, from + steps.length)
    from += steps.length
    return leg
  })
  return routeKml({ legs, totals, points, attribution: graph.meta.attribution })
}

/** With a time-dependent departure the order was chosen by the prices at the departure: good, but not proven best. */
function wordOrder(order: Order | undefined, isTimed: boolean): Worded {
  if (order === undefined) return {}
  return {
    order_is_optimal: String(order.isOptimal && !isTimed),
    via_order: JSON.stringify(order.via),
  }
}
