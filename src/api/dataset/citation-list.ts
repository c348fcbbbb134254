import { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { toCitationInfo } from './info.js'
import { listQuery } from './list-query.js'
import { CitationInfo, ListParams } from './schema.js'

export const listCitations = defineMethod({
  name: 'dataset.citation.list',
  summary: 'Lists citations, filtered and paged, oldest first unless the query gives an order',
  scope: 'dataset:read',
  errors: ['BAD_CONDITION'],
  params: ListParams,
  result: z.array(CitationInfo),
  async handle(params, { datasets, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'timeZoneMin'>) {
    const found = await datasets.listCitations(listQuery(params))
    return found.map((citation) => toCitationInfo(citation, timeZoneMin))
  },
})
