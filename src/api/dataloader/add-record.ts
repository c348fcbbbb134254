import { defineMethod } from '../../rpc/define-method.js'
import type { DataLoaderContext } from './context.js'
import { toCounters } from './counters.js'
import { AddRecordParams, CountersResult } from './schema.js'

export const addRecord = defineMethod({
  name: 'loaderwebapi.add_record',
  summary: 'Stores records in a table: all of the call, or none when one does not fit',
  scope: 'loader:write',
  errors: ['UNKNOWN_TABLE', 'BAD_RECORD', 'RECORD_EXISTS', 'DISK_FULL'],
  params: AddRecordParams,
  result: CountersResult,
  async handle(
    { data_name, options, record_set },
    { loader, signal, spooledRecords }: Pick<DataLoaderContext, 'loader' | 'signal' | 'spooledRecords'>,
  ) {
    const target = { table: loader.find(data_name), ifExists: options.if_exists, signal }
    const counters =
      spooledRecords === undefined
        ? await loader.add(target, record_set)
        : await loader.addSpooled(target, spooledRecords)
    return toCounters(counters)
  },
})
