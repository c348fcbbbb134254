import { RECORDS_READ, type RecordsRead } from '../../datasets/reads.js'
import { defineMethod } from '../../rpc/define-method.js'
import { textResult } from '../../rpc/result.js'
import type { DatasetContext } from './context.js'
import { GetRecordsParams, GetRecordsResult } from './schema.js'

export const getRecords = defineMethod({
  name: 'dataset.record.get',
  summary: 'Returns records of the cited state',
  scope: 'dataset:read',
  errors: ['UNKNOWN_CITATION', 'BAD_CONDITION', 'TOO_EXPENSIVE', 'TIME_LIMIT', 'BUSY'],
  params: GetRecordsParams,
  result: GetRecordsResult,
  async handle(params, { readers, signal, caller }: Pick<DatasetContext, 'readers' | 'signal' | 'caller'>) {
    const { citation_label, columns, condition, order, offset, limit } = params
    const query = {
      order: order ?? undefined,
      columns: columns ?? undefined,
      offset: offset ?? undefined,
      limit: limit ?? undefined,
    }
    const conds = condition === undefined || condition === null ? null : JSON.stringify(condition)
    const read: RecordsRead = { label: citation_label, query, conds }
    return textResult((await readers.read(RECORDS_READ, read, { signal, owner: caller.keyId })).text)
  },
})
