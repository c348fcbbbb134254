import { defineMethod } from '../../rpc/define-method.js'
import { textResult } from '../../rpc/result.js'
import { readPeriodFrom } from '../period.js'
import type { MapContext } from './context.js'
import { RISKMAP_READ, type RiskmapRead, toThread } from './reads.js'
import { RiskmapParams, RiskmapResult } from './schema.js'

/** Length of a period without an end: one second. */
const DEFAULT_PERIOD_US = 1_000_000n

export const riskmap = defineMethod({
  name: 'mapserv.riskmap',
  summary:
    'Risk map cells of themes in an area and a period, as stored or on the standard grid. A theme in a dataset needs dataset:read, too',
  scope: 'map:read',
  errors: ['TOO_MANY_CELLS', 'TIME_LIMIT', 'BUSY'],
  params: RiskmapParams,
  result: RiskmapResult,
  paramsIn: 'array',
  async handle({ geometry, properties }, { readers, timeZoneMin, caller, signal }: MapContext) {
    const { themes, target_theme_mesh_degree: degree } = properties
    const read: RiskmapRead = {
      scopes: caller.scopes,
      area: geometry,
      period: readPeriodFrom(properties, timeZoneMin, DEFAULT_PERIOD_US),
      themes,
      ...(degree === undefined ? {} : { degree }),
    }
    return textResult(
      (await readers.read(RISKMAP_READ, toThread(read), { signal, owner: caller.keyId })).text,
    )
  },
})
