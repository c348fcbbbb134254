import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { readPoint } from './read-params.js'
import { NearestParams, NearestResult } from './schema.js'

/** Snaps as a route would: to see why a route begins where it does. */
export const nearest = defineMethod({
  name: 'routing.nearest',
  summary: 'The spot on a road where a route from a point would begin',
  scope: 'route:read',
  errors: ['OUTSIDE_MAP', 'UNKNOWN_MAP', 'BUSY', 'TIME_LIMIT'],
  params: NearestParams,
  result: NearestResult,
  paramsIn: 'array',
  async handle({ lonlat, map }, context: RoutingContext) {
    return await search(context, 'nearest', { map, point: readPoint(lonlat, 'lonlat') })
  },
})
