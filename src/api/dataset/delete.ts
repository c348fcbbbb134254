import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { toDatasetInfo } from './info.js'
import { DatasetInfo, DatasetParams } from './schema.js'

export const deleteDataset = defineMethod({
  name: 'dataset.delete',
  summary: 'Removes a dataset with its records and its citations',
  scope: 'dataset:write',
  errors: ['UNKNOWN_DATASET'],
  params: DatasetParams,
  result: DatasetInfo,
  async handle(
    { dataset_name },
    { datasets, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'timeZoneMin'>,
  ) {
    return toDatasetInfo(await datasets.remove(dataset_name), timeZoneMin)
  },
})
