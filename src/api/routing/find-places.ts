import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { FindPlacesParams, FindPlacesResult } from './schema.js'

/** Asks the search worker, which has the base maps. */
export const findPlaces = defineMethod({
  name: 'routing.find_places',
  summary: 'Places, streets and water by name, from base maps',
  scope: 'route:read',
  errors: ['UNKNOWN_MAP', 'NO_BASE_MAP', 'BAD_BASE_MAP', 'BUSY', 'TIME_LIMIT'],
  params: FindPlacesParams,
  result: FindPlacesResult,
  paramsIn: 'array',
  async handle({ text, map, limit }, context: RoutingContext) {
    return await search(context, 'places', { text, map, limit })
  },
})
