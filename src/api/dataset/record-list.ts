import { ROWS_READ, type RowsRead } from '../../datasets/reads.js'
import { defineMethod } from '../../rpc/define-method.js'
import { textResult } from '../../rpc/result.js'
import { type DatasetContext, rowRights } from './context.js'
import { GetRecordsResult, ListRecordsParams } from './schema.js'

export const listRecords = defineMethod({
  name: 'dataset.record.list',
  summary:
    'Returns records of a dataset or a citation as they are now. A loader table needs loader:read, too',
  scope: 'dataset:read',
  errors: ['UNKNOWN_DATASET', 'BAD_CONDITION', 'TOO_EXPENSIVE', 'TIME_LIMIT', 'BUSY'],
  params: ListRecordsParams,
  result: GetRecordsResult,
  async handle(params, { readers, signal, caller }: Pick<DatasetContext, 'readers' | 'signal' | 'caller'>) {
    const { dataset_label, columns, condition, order, offset, limit } = params
    const query = {
      order: order ?? undefined,
      columns: columns ?? undefined,
      offset: offset ?? undefined,
      limit: limit ?? undefined,
    }
    const conds = condition === undefined || condition === null ? null : JSON.stringify(condition)
    const read: RowsRead = { label: dataset_label, query, conds, may: rowRights(caller) }
    return textResult((await readers.read(ROWS_READ, read, { signal, owner: caller.keyId })).text)
  },
})
