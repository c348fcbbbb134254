import type { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import { rawJson, textResult } from '../../rpc/result.js'
import { readPeriod } from '../period.js'
import type { MapContext } from './context.js'
import {
  EVENTDATA_READ,
  type EventdataRead,
  eventsText,
  hasSmallArea,
  toThread,
  wholeQuery,
} from './reads.js'
import { EventdataParams, EventdataResult } from './schema.js'

export const eventdata = defineMethod({
  name: 'mapserv.eventdata',
  summary:
    'Records of a data loader table whose geometry intersects an area exactly. A dataset needs dataset:read, too',
  scope: 'map:read',
  errors: ['UNKNOWN_TABLE', 'BAD_CONDITION', 'TOO_EXPENSIVE', 'TIME_LIMIT', 'BUSY'],
  params: EventdataParams,
  result: EventdataResult,
  paramsIn: 'array',
  async handle(params, context: MapContext) {
    const { readers, smallReads, signal, caller } = context
    const read = readOf(params, context)
    const small = hasSmallArea(read) ? await smallReads?.read(read.table, wholeQuery(read)) : undefined
    if (small !== undefined) return rawJson(eventsText(small.table, small.rows))
    return textResult(
      (await readers.read(EVENTDATA_READ, toThread(read), { signal, owner: caller.keyId })).text,
    )
  },
})

/** Returns the read of a call; an absent member is left out instead of set to undefined. */
function readOf(
  params: z.output<typeof EventdataParams>,
  { timeZoneMin, caller }: MapContext,
): EventdataRead {
  const { table, columns, conds, limit, offset, order } = params.properties
  const span = readPeriod(params.properties, timeZoneMin)
  return {
    scopes: caller.scopes,
    table,
    area: params.geometry,
    conds: conds === undefined ? null : JSON.stringify(conds),
    query: {
      columns,
      order,
      ...(span === undefined ? {} : { span }),
      ...(limit === undefined ? {} : { limit }),
      ...(offset === undefined ? {} : { offset }),
    },
  }
}
