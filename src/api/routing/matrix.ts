import { defineMethod } from '../../rpc/define-method.js'
import { REACH_ERRORS, type RoutingContext, search } from './context.js'
import { checkCount, readPoint, readRisk } from './read-params.js'
import { MatrixParams, MatrixResult } from './schema.js'

/** The result is built in memory before it is sent: `routing.maxMatrixPoints` bounds its size. */
export const matrix = defineMethod({
  name: 'routing.matrix',
  summary: 'Costs, times and lengths of the cheapest routes between many points',
  scope: 'route:read',
  errors: REACH_ERRORS,
  params: MatrixParams,
  result: MatrixResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    const { maxMatrixPoints } = context.config.routing
    const targets = params.targets ?? params.sources
    checkCount('sources', params.sources.length, maxMatrixPoints)
    checkCount('targets', targets.length, maxMatrixPoints)
    return await search(context, 'matrix', {
      ...readRisk(params, context),
      sources: params.sources.map((lonlat, i) => readPoint(lonlat, `sources[${i}]`)),
      targets: targets.map((lonlat, i) => readPoint(lonlat, `targets[${i}]`)),
    })
  },
})
