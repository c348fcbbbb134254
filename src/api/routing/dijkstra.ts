import type { z } from 'zod'
import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { checkCount, readInstant, readPoint, readPolygons, readThemes } from './read-params.js'
import { DijkstraParams, DijkstraResult } from './schema.js'

/**
 * Shapes, limits and times are checked here; what lies on which map, what a theme is and which ways there are, the search
 * worker knows.
 */
export const dijkstra = defineMethod({
  name: 'routing.dijkstra',
  summary: 'Cheapest way between two points, over via points, around risk',
  scope: 'route:read',
  errors: [
    'OUTSIDE_MAP',
    'NO_ROUTE',
    'UNKNOWN_MAP',
    'UNKNOWN_THEME',
    'BAD_SENSITIVITY',
    'TOO_MANY_VIA',
    'TOO_MANY_ITEMS',
    'SEARCH_TOO_LARGE',
    'BUSY',
    'TIME_LIMIT',
  ],
  params: DijkstraParams,
  result: DijkstraResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    const { maxThemes, maxAvoidPolygons, maxAlternatives } = context.config.routing
    checkViaCount(params.via.length, context.config.routing.maxVia)
    checkCount('alternatives', params.alternatives, maxAlternatives)
    return await search(context, 'route', {
      map: params.map,
      themes: readThemes(params.themes, maxThemes),
      startUs: readInstant(params.start_datetime, '$.start_datetime', context.timeZoneMin),
      points: pointsOf(params),
      reorder: params.reorder_waypoints,
      withKml: params.with_kml,
      alternatives: params.alternatives,
      avoid: readPolygons(params.avoid_polygons, maxAvoidPolygons),
      isTimeDependent: params.depart === 'time_dependent',
    })
  },
})

/** Has an error of its own, for the contract names it. */
function checkViaCount(found: number, limit: number): void {
  if (found <= limit) return
  const message = `Found ${found} via points, expected at most ${limit} (routing.maxVia)`
  throw new AppError('TOO_MANY_VIA', { found, limit }, { message })
}

/** In the order of the request, under the names that messages use. */
function pointsOf(params: z.output<typeof DijkstraParams>) {
  return [
    readPoint(params.start_lonlat, 'start_lonlat'),
    ...params.via.map((lonlat, i) => readPoint(lonlat, `via[${i}]`)),
    readPoint(params.goal_lonlat, 'goal_lonlat'),
  ]
}
