import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { Count, DeleteRecordsParams } from './schema.js'

export const deleteRecords = defineMethod({
  name: 'dataset.record.delete',
  summary: 'Deletes the records that match and returns their number; citations still see them',
  scope: 'dataset:write',
  errors: ['UNKNOWN_DATASET', 'BAD_CONDITION', 'TOO_EXPENSIVE'],
  params: DeleteRecordsParams,
  result: Count,
  async handle(
    { dataset_name, condition },
    { datasets, signal }: Pick<DatasetContext, 'datasets' | 'signal'>,
  ) {
    return await datasets.deleteRecords(dataset_name, condition ?? undefined, signal)
  },
})
