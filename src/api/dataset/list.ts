import { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { toDatasetInfo } from './info.js'
import { listQuery } from './list-query.js'
import { ListedDataset, ListParams } from './schema.js'

export const listDatasets = defineMethod({
  name: 'dataset.list',
  summary: 'Lists datasets, filtered and paged, in order of creation unless the query gives an order',
  scope: 'dataset:read',
  errors: ['BAD_CONDITION'],
  params: ListParams,
  result: z.array(ListedDataset),
  async handle(params, { datasets, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'timeZoneMin'>) {
    const found = await datasets.list(listQuery(params))
    return found.map((dataset) => ({
      ...toDatasetInfo(dataset, timeZoneMin),
      key_columns: [...dataset.keyColumns],
    }))
  },
})
