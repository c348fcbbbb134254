import { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import type { DatasetContext } from './context.js'
import { toCitationInfo } from './info.js'
import { CitationInfo, CitationParams } from './schema.js'

export const deleteCitation = defineMethod({
  name: 'dataset.citation.delete',
  summary: 'Removes the citation of a long form, or every citation of a short form',
  scope: 'dataset:write',
  errors: ['UNKNOWN_CITATION'],
  params: CitationParams,
  result: z.array(CitationInfo),
  async handle(
    { citation_label },
    { datasets, timeZoneMin }: Pick<DatasetContext, 'datasets' | 'timeZoneMin'>,
  ) {
    const removed = await datasets.uncite(citation_label)
    return removed.map((citation) => toCitationInfo(citation, timeZoneMin))
  },
})
