import { noRouteError } from '../../src/route-answer/errors.js'
import type { RouteTotals } from '../../src/route-answer/features.js'
import { createLegWriter, type RouteShape } from '../../src/route-answer/leg-text.js'
import type { RequestPoint } from '../../src/route-answer/request-point.js'
import { routeText } from '../../src/route-answer/route-text.js'
import type { BlockedLeg, Route } from '../../src/routing/search/route.js'
import { runToEnd, type SlicedTask } from '../../src/routing/search/sliced-task.js'
import { type RouteQuery, solveRoute } from '../../src/routing/search/solve.js'

/** Result of `routing.dijkstra` in wire names. */
export type RouteAnswer = { kml?: string } & RouteTotals & {
    start_node: number
    end_node: number
    [routeKey: string]: unknown
  }

/** A route request with its points; what is absent has the default of the method. */
export type RouteQuestion = Pick<RouteQuery, 'snaps' | 'profile' | 'searchWith'> &
  Partial<RouteQuery> & {
    readonly points: readonly RequestPoint[]
    readonly withKml?: boolean
    readonly shape?: RouteShape
  }

/** Shape of an answer that asks for none. */
export const ALL_LINKS: RouteShape = { geometry: 'geojson', perArc: true }

/** Answers a route request without a pause. @returns JSON text @throws AppError as the method does */
export function routeTextNow({
  points,
  withKml = false,
  shape = ALL_LINKS,
  ...query
}: RouteQuestion): string {
  const control = { maxSettledNodes: 1e9 }
  const solution = runToEnd(solveRoute({ reorder: false, alternatives: 1, control, ...query }))
  if ('blockedLeg' in solution) throw noRouteError(solution, points)
  const { graph } = query.profile
  const bytes = runToEnd(
    routeText(solution, {
      graph,
      points,
      snaps: query.snaps,
      withKml,
      shape,
      routeKey: 'geojson',
      writer: createLegWriter(),
    }),
  )
  return new TextDecoder().decode(bytes)
}

/** Runs a search for a route that must exist. @throws Error when a leg has no path */
export function routeNow(task: SlicedTask<Route | BlockedLeg>): Route {
  const route = runToEnd(task)
  if ('blockedLeg' in route) throw new Error(`leg ${route.blockedLeg} has no path`)
  return route
}
