import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { checkCount, readPoint, readRiskInstant, readThemes } from './read-params.js'
import { MatrixParams, MatrixResult } from './schema.js'

/** One row a source: the whole is built before it is sent, so `routing.maxMatrixPoints` bounds its size. */
export const matrix = defineMethod({
  name: 'routing.matrix',
  summary: 'Costs, times and lengths of the cheapest ways between many points',
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
  params: MatrixParams,
  result: MatrixResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    const { maxThemes, maxMatrixPoints } = context.config.routing
    const targets = params.targets ?? params.sources
    checkCount('sources', params.sources.length, maxMatrixPoints)
    checkCount('targets', targets.length, maxMatrixPoints)
    const themes = readThemes(params.themes, maxThemes)
    return await search(context, 'matrix', {
      map: params.map,
      themes,
      startUs: readRiskInstant(params.start_datetime, themes, context.timeZoneMin),
      sources: params.sources.map((lonlat, i) => readPoint(lonlat, `sources[${i}]`)),
      targets: targets.map((lonlat, i) => readPoint(lonlat, `targets[${i}]`)),
    })
  },
})
