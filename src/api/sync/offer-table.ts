import type { TableOffer } from '../../feeds/batch/definition.js'
import { defineMethod, parseParams } from '../../rpc/define-method.js'
import type { TableDefinition } from '../../storage/tables.js'
import type { SyncContext } from './context.js'
import { readColumns } from './read-columns.js'
import { OfferTableParams, OfferTableResult } from './schema.js'

export const offerTable = defineMethod({
  name: 'sync.offer_table',
  summary: 'Called by another gateway before it sends a table: registers it here, and answers how far it is',
  scope: 'sync:write',
  errors: ['TABLE_DIFFERS', 'STALE_EPOCH', 'LOOP', 'DISK_FULL'],
  params: OfferTableParams,
  result: OfferTableResult,
  async handle(params, { caller, feedReceiver }: Pick<SyncContext, 'caller' | 'feedReceiver'>) {
    return await feedReceiver.offer(caller, params, readColumns(params.definition))
  },
})

/**
 * Checks the offer of a table that did not come as a call.
 *
 * @throws AppError INVALID_PARAMS, TABLE_NOT_SENDABLE
 */
export function readOffer(json: unknown): { offer: TableOffer; columns: TableDefinition } {
  const offer = parseParams(OfferTableParams, json)
  return { offer, columns: readColumns(offer.definition) }
}
