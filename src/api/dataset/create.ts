import { readDefinition } from '../../datasets/definition.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { toDatasetInfo } from './info.js'
import { CreateParams, DatasetInfo } from './schema.js'

export const createDataset = defineMethod({
  name: 'dataset.create',
  summary: 'Creates a dataset: a table whose states can be cited',
  scope: 'dataset:write',
  errors: ['ALREADY_EXISTS'],
  params: CreateParams,
  result: DatasetInfo,
  async handle(
    params,
    { datasets, caller, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'caller' | 'timeZoneMin'>,
  ) {
    const made = await datasets.create({ ...readDefinition(params), usename: caller.keyName })
    return toDatasetInfo(made, timeZoneMin)
  },
})
