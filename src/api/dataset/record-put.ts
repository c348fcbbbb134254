import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { Count, PutParams } from './schema.js'

export const putRecords = defineMethod({
  name: 'dataset.record.put',
  summary: 'Writes records in one transaction, all or none, and returns their number',
  scope: 'dataset:write',
  errors: ['UNKNOWN_DATASET', 'BAD_RECORD', 'RECORD_EXISTS'],
  params: PutParams,
  result: Count,
  async handle(
    { dataset_name, records, on_conflict },
    { datasets, signal }: Pick<DatasetContext, 'datasets' | 'signal'>,
    exact,
  ) {
    return await datasets.put(dataset_name, records, on_conflict, signal, async () => (await exact()).records)
  },
})
