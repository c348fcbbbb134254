import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { readPoint, readRisk } from './read-params.js'
import { NearestParams, NearestResult } from './schema.js'

/** Snaps a point as a route does, which shows why a route begins where it does. */
export const nearest = defineMethod({
  name: 'routing.nearest',
  summary: 'Nearest point on a road, where a route from a point begins',
  scope: 'route:read',
  errors: ['OUTSIDE_MAP', 'UNKNOWN_MAP', 'BUSY', 'TIME_LIMIT'],
  params: NearestParams,
  result: NearestResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    return await search(context, 'nearest', {
      ...readRisk({ ...params, themes: {} }, context),
      point: readPoint(params.lonlat, 'lonlat'),
    })
  },
})
