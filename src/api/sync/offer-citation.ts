import { readDefinition } from '../../datasets/definition.js'
import { isName, NAME_RULE } from '../../datasets/name.js'
import { invalidParams } from '../../errors.js'
import type { CheckedOffer, CitedColumn } from '../../feeds/citations/format.js'
import { defineMethod, parseParams } from '../../rpc/define-method.js'
import type { DatasetColumn } from '../../storage/columns/data-type.js'
import type { SyncContext } from './context.js'
import { OfferCitationParams, OfferCitationResult } from './schema.js'

type Params = Parameters<typeof OfferCitationParams.parse>[0] & ReturnType<typeof OfferCitationParams.parse>

export const offerCitation = defineMethod({
  name: 'sync.offer_citation',
  summary: 'Called by another gateway before it sends a citation: answers how many of its rows are here',
  scope: 'sync:write',
  errors: ['CITATION_DIFFERS', 'LOOP', 'DISK_FULL'],
  params: OfferCitationParams,
  result: OfferCitationResult,
  async handle(params, { caller, citationReceiver }: Pick<SyncContext, 'caller' | 'citationReceiver'>) {
    return await citationReceiver.offer(caller, params.node, readOffer(params))
  },
})

/**
 * Checks an offer of a citation that came another way than by a call.
 *
 * @throws AppError INVALID_PARAMS
 */
export function readCitationOffer(json: unknown): { node: string; offer: CheckedOffer } {
  const params = parseParams(OfferCitationParams, json)
  return { node: params.node, offer: readOffer(params) }
}

/** @throws AppError INVALID_PARAMS */
function readOffer(params: Params): CheckedOffer {
  const { long_form: longForm, short_form: shortForm } = params
  if (!isName(shortForm))
    throw invalidParams([
      { path: '$.short_form', message: `found ${JSON.stringify(shortForm)}, expected ${NAME_RULE}` },
    ])
  if (!longForm.startsWith(`${shortForm}_`) || !/_\d{1,12}(\.\d{1,6})?$/.test(longForm))
    throw invalidParams([
      {
        path: '$.long_form',
        message: `found ${JSON.stringify(longForm)}, expected ${shortForm}_ and a time in epoch seconds`,
      },
    ])
  return {
    ...{ origin: params.origin, longForm, shortForm, checksum: params.checksum },
    ...{ datasetName: params.dataset_name, datasetRealname: params.dataset_realname },
    ...{ createdAtUs: params.created_at_us, transactionTimeUs: params.transaction_time_us },
    ...{ rowCount: params.row_count, columns: readColumns(params), keyColumns: params.key_columns },
  }
}

/** Checks columns as those of `dataset.create`. @throws AppError INVALID_PARAMS */
function readColumns({
  columns,
  key_columns,
}: {
  columns: readonly CitedColumn[]
  key_columns: readonly string[]
}) {
  const defs = columns.map(({ name, data_type, nullable }) => ({ column_name: name, data_type, nullable }))
  const { columns: read } = readDefinition({ dataset_name: '', columns: defs, key_columns })
  return read.map((column, at): DatasetColumn => ({ ...column, typeText: columns[at]?.type_text ?? '' }))
}
