import type { z } from 'zod'
import type { CalcRiskRequest } from '../../route-engine/requests.js'
import { defineMethod } from '../../rpc/define-method.js'
import { type RoutingContext, search } from './context.js'
import { checkCount, invalid, readInstant } from './read-params.js'
import { CalcRiskParams, CalcRiskResult } from './schema.js'

export const calcRisk = defineMethod({
  name: 'routing.calc_risk',
  summary: 'Exposure to risk along straight segments travelled at given speeds',
  scope: 'route:read',
  errors: ['UNKNOWN_THEME', 'TOO_MANY_ITEMS', 'BUSY', 'TIME_LIMIT'],
  params: CalcRiskParams,
  result: CalcRiskResult,
  paramsIn: 'array',
  async handle(params, context: RoutingContext) {
    checkCount('themes', params.themes.length, context.config.routing.maxThemes)
    return await search(context, 'calcRisk', {
      themes: [...new Set(params.themes)],
      stretches: stretchesOf(params, context.timeZoneMin),
      startUs: readInstant(params.start_datetime, '$.start_datetime', context.timeZoneMin),
    })
  },
})

/** Completes segments: a start or a speed that is absent is that of the segment before, or of the request. */
function stretchesOf(
  params: z.output<typeof CalcRiskParams>,
  timeZoneMin: number,
): CalcRiskRequest['stretches'] {
  let from: readonly number[] | undefined
  return params.route.map((segment, i) => {
    from = segment.start_lonlat ?? from
    if (from === undefined)
      throw invalid(`$.route[${i}].start_lonlat`, 'found nothing, expected a point for the first segment')
    const kmPerH = segment.speed ?? params.speed
    if (kmPerH === undefined)
      throw invalid(`$.route[${i}].speed`, 'found nothing, expected a speed here or in $.speed')
    const stretch = {
      from: positionOf(from),
      to: positionOf(segment.end_lonlat),
      startUs:
        segment.start_datetime === undefined
          ? undefined
          : readInstant(segment.start_datetime, `$.route[${i}].start_datetime`, timeZoneMin),
      kmPerH,
    }
    from = segment.end_lonlat
    return stretch
  })
}

function positionOf([lng = 0, lat = 0]: readonly number[]): [number, number] {
  return [lng, lat]
}
