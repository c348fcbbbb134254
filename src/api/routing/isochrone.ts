import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { readPoint, readPolygons, readRiskInstant, readThemes } from './read-params.js'
import { IsochroneParams, IsochroneResult } from './schema.js'

/** The result is plain GeoJSON, so that the REST form can be opened in a map viewer. */
export const isochrone = defineMethod({
  name: 'routing.isochrone',
  summary: 'Areas that can be reached from a point within given costs',
  scope: 'route:read',
  errors: [
    'OUTSIDE_MAP',
    'UNKNOWN_MAP',
    'UNKNOWN_THEME',
    'BAD_SENSITIVITY',
    'TOO_MANY_ITEMS',
    'SEARCH_TOO_LARGE',
    'BUSY',
    'TIME_LIMIT',
  ],
  params: IsochroneParams,
  result: IsochroneResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    const { maxThemes, maxAvoidPolygons } = context.config.routing
    const themes = readThemes(params.themes, maxThemes)
    return await search(context, 'isochrone', {
      map: params.map,
      themes,
      startUs: readRiskInstant(params.start_datetime, themes, context.timeZoneMin),
      point: readPoint(params.lonlat, 'lonlat'),
      costs: params.costs,
      avoid: readPolygons(params.avoid_polygons, maxAvoidPolygons),
    })
  },
})
