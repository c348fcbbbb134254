import type { z } from 'zod'
import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { checkCount, readInstant, readPoint, readPolygons, readThemes, readVehicle } from './read-params.js'
import { DijkstraParams, DijkstraResult } from './schema.js'

/**
 * Checks shapes, limits and times, and sends the request to the search worker, which knows maps and themes.
 */
export const dijkstra = defineMethod({
  name: 'routing.dijkstra',
  summary: 'Cheapest route between two points, over via points, around risk',
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
    const { maxThemes, maxAlternatives } = context.config.routing
    checkViaCount(params.via.length, context.config.routing.maxVia)
    checkCount('alternatives', params.alternatives, maxAlternatives)
    return await search(context, 'route', {
      map: params.map,
      themes: readThemes(params.themes, maxThemes),
      vehicle: readVehicle(params.vehicle),
      startUs: readInstant(params.start_datetime, '$.start_datetime', context.timeZoneMin),
      points: pointsOf(params),
      reorder: params.reorder_waypoints,
      withKml: params.with_kml,
      shape: { geometry: params.geometry, perArc: params.arcs },
      alternatives: params.alternatives,
      avoid: readPolygons(params.avoid_polygons, context.config.routing),
      isTimeDependent: params.depart === 'time_dependent',
    })
  },
})

/** Checks the number of via points, for which the contract names an error of its own. */
function checkViaCount(found: number, limit: number): void {
  if (found <= limit) return
  const message = `Found ${found} via points, expected at most ${limit} (routing.maxVia)`
  throw new AppError('TOO_MANY_VIA', { found, limit }, { message })
}

/** Lists start, via points and goal under the names that messages use. */
function pointsOf(params: z.output<typeof DijkstraParams>) {
  return [
    readPoint(params.start_lonlat, 'start_lonlat'),
    ...params.via.map((lonlat, i) => readPoint(lonlat, `via[${i}]`)),
    readPoint(params.goal_lonlat, 'goal_lonlat'),
  ]
}
