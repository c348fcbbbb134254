import { defineMethod } from '../../rpc/define-method.js'
import { REACH_ERRORS, type RoutingContext, search } from './context.js'
import { readPoint, readPolygons, readRisk } from './read-params.js'
import { IsochroneParams, IsochroneResult } from './schema.js'

/** Answers plain GeoJSON, so that a map viewer can open the URL of the REST form. */
export const isochrone = defineMethod({
  name: 'routing.isochrone',
  summary: 'Areas that can be reached from a point within given costs',
  scope: 'route:read',
  errors: REACH_ERRORS,
  params: IsochroneParams,
  result: IsochroneResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    return await search(context, 'isochrone', {
      ...readRisk(params, context),
      point: readPoint(params.lonlat, 'lonlat'),
      costs: params.costs,
      avoid: readPolygons(params.avoid_polygons, context.config.routing),
    })
  },
})
