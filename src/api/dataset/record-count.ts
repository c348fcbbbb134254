import { COUNT_READ, type RowsRead } from '../../datasets/reads.js'
import { defineMethod } from '../../rpc/define-method.js'
import { textResult } from '../../rpc/result.js'
import { type DatasetContext, rowRights } from './context.js'
import { Count, CountRecordsParams } from './schema.js'

export const countRecords = defineMethod({
  name: 'dataset.record.count',
  summary: 'Counts the records of a dataset or a citation that match. A loader table needs loader:read, too',
  scope: 'dataset:read',
  errors: ['UNKNOWN_DATASET', 'BAD_CONDITION', 'TOO_EXPENSIVE', 'TIME_LIMIT', 'BUSY'],
  params: CountRecordsParams,
  result: Count,
  async handle(
    { dataset_label: label, condition },
    { readers, signal, caller }: Pick<DatasetContext, 'readers' | 'signal' | 'caller'>,
  ) {
    const conds = condition === undefined || condition === null ? null : JSON.stringify(condition)
    const read: RowsRead = { label, query: {}, conds, may: rowRights(caller) }
    return textResult((await readers.read(COUNT_READ, read, { signal, owner: caller.keyId })).text)
  },
})
