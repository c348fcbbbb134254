import { defineMethod } from '../../rpc/define-method.js'
import { withPlace } from '../../tables/record-fault.js'
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
    {
      loader,
      signal,
      caller,
      spooledRecords,
    }: Pick<DataLoaderContext, 'loader' | 'signal' | 'caller' | 'spooledRecords'>,
  ) {
    const target = {
      table: await loader.find(data_name),
      ifExists: options.if_exists,
      signal,
      owner: caller.keyId,
    }
    try {
      const counters =
        spooledRecords === undefined
          ? await loader.add(target, record_set)
          : await loader.addSpooled(target, spooledRecords)
      return toCounters(counters)
    } catch (error) {
      throw withPlace(error, (index) => `record_set[${index}]`)
    }
  },
})
