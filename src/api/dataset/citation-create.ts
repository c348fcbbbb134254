import { defineMethod } from '../../rpc/define-method.js'
import { type DatasetContext, readingOf } from './context.js'
import { toCitationInfo } from './info.js'
import { CitationInfo, CreateCitationParams } from './schema.js'

export const createCitation = defineMethod({
  name: 'dataset.citation.create',
  summary:
    'Cites the present state of a dataset or loader table; its checksum is computed in the background. A loader table needs loader:read, too',
  scope: 'dataset:write',
  errors: ['UNKNOWN_DATASET'],
  params: CreateCitationParams,
  result: CitationInfo,
  async handle(
    { citation_label, source },
    { datasets, caller, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'caller' | 'timeZoneMin'>,
  ) {
    const citation = await datasets.cite(citation_label, source, readingOf(caller))
    return toCitationInfo(citation, timeZoneMin)
  },
})
