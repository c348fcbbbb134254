import { defineMethod } from '../../rpc/define-method.js'
import type { DataLoaderContext } from './context.js'
import {
  ListRetentionParams,
  ListRetentionResult,
  printRetention,
  RetentionEntry,
  readRule,
  SetRetentionParams,
} from './retention-schema.js'

type Context = Pick<DataLoaderContext, 'retention' | 'timeZoneMin'>

export const setRetention = defineMethod({
  name: 'loaderwebapi.set_retention',
  summary:
    'Sets which rows of a table go by themselves: by age, number or size, or thinned. Absent members stay as they are, null takes a limit away',
  scope: 'loader:write',
  errors: ['UNKNOWN_TABLE', 'ALREADY_REGISTERED', 'DISK_FULL', 'BUSY'],
  params: SetRetentionParams,
  result: RetentionEntry,
  async handle({ data_name: name, ...given }, { retention, timeZoneMin }: Context) {
    const { table, retained } = await retention.change(name, readRule({ data_name: name, ...given }))
    retention.wake()
    return printRetention(table, retained, await retention.stateOf(table.tableId), timeZoneMin)
  },
})

export const listRetention = defineMethod({
  name: 'loaderwebapi.list_retention',
  summary: 'Lists the tables whose rows go by themselves, with what has gone and what waits',
  scope: 'loader:read',
  errors: [],
  params: ListRetentionParams,
  result: ListRetentionResult,
  async handle(_params, { retention, timeZoneMin }: Context) {
    const all = await retention.list()
    return await Promise.all(
      all.map(async (one) =>
        printRetention(one.table, one, await retention.stateOf(one.table.tableId), timeZoneMin),
      ),
    )
  },
})
