import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { ListMapsParams, ListMapsResult } from './schema.js'

/** Asks the search worker, which loads the map files. */
export const listMaps = defineMethod({
  name: 'routing.list_maps',
  summary: 'Road maps for routes',
  scope: 'route:read',
  errors: ['BUSY', 'TIME_LIMIT'],
  params: ListMapsParams,
  result: ListMapsResult,
  paramsIn: 'array',
  async handle(_params, context: RoutingContext) {
    return await search(context, 'maps', null)
  },
})
