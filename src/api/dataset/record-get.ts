import type { RecordPages } from '../../datasets/datasets.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import type { DatasetContext } from './context.js'
import { GetRecordsParams, GetRecordsResult } from './schema.js'

export const getRecords = defineMethod({
  name: 'dataset.record.get',
  summary: 'Returns records of the cited state',
  scope: 'dataset:read',
  errors: ['UNKNOWN_CITATION', 'BAD_CONDITION'],
  params: GetRecordsParams,
  result: GetRecordsResult,
  async handle(params, { datasets, signal }: Pick<DatasetContext, 'datasets' | 'signal'>) {
    const { citation_label, columns, condition, order, offset, limit } = params
    const query = {
      conds: condition ?? undefined,
      order: order ?? undefined,
      columns: columns ?? undefined,
      offset: offset ?? undefined,
      limit: limit ?? undefined,
    }
    return streamed(arrayText(await datasets.read(citation_label, query, signal)))
  },
})

/** Yields a JSON array, one chunk per page. */
async function* arrayText(pages: RecordPages): AsyncGenerator<string> {
  let before = '['
  for await (const page of pages) {
    yield before + page.map((record) => JSON.stringify(record)).join(',')
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}
