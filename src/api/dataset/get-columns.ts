import { defineMethod } from '../../rpc/define-method.js'
import { TRANSACTION_RANGE } from '../../storage/datasets/states.js'
import { type DatasetContext, readingOf } from './context.js'
import { GetColumnsParams, GetColumnsResult } from './schema.js'

export const getColumns = defineMethod({
  name: 'dataset.get_columns',
  summary:
    'Lists the columns of a dataset, last the range of transactions of each row version. A loader table needs loader:read, too',
  scope: 'dataset:read',
  errors: ['UNKNOWN_DATASET'],
  params: GetColumnsParams,
  result: GetColumnsResult,
  async handle({ dataset_label }, { datasets, caller }: Pick<DatasetContext, 'datasets' | 'caller'>) {
    const columns = await datasets.columns(dataset_label, readingOf(caller))
    const defined = columns.map(({ name, typeText, isNullable }) => ({
      column_name: name,
      data_type: typeText,
      nullable: isNullable,
    }))
    const range = { column_name: TRANSACTION_RANGE, data_type: 'tstzrange', nullable: false }
    return [...defined, range].map((column, index) => ({ ...column, attnum: index + 1 }))
  },
})
