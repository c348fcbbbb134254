import { readAddedColumns } from '../../datasets/definition.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { toDatasetInfo } from './info.js'
import { AlterParams, DatasetInfo } from './schema.js'

export const alterDataset = defineMethod({
  name: 'dataset.alter',
  summary:
    'Adds columns that may be null to a dataset. Its rows have no value of them; citations stay as they are',
  scope: 'dataset:write',
  errors: ['UNKNOWN_DATASET', 'DISK_FULL', 'BUSY'],
  params: AlterParams,
  result: DatasetInfo,
  async handle(
    { dataset_name, add_columns },
    { datasets, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'timeZoneMin'>,
  ) {
    return toDatasetInfo(await datasets.addColumns(dataset_name, readAddedColumns(add_columns)), timeZoneMin)
  },
})
