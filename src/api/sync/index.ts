import type { Method } from '../../rpc/define-method.js'
import { askTable } from './ask-table.js'
import type { SyncContext } from './context.js'
import { createFeed, deleteFeed, listFeeds, updateFeed } from './feeds.js'
import { offerCitation } from './offer-citation.js'
import { offerTable } from './offer-table.js'
import { resend } from './resend.js'
import { createUpstream, deleteUpstream, listUpstreams } from './upstreams.js'
import { tableSums, verify } from './verify.js'

export type { SyncContext } from './context.js'
export { readCitationOffer } from './offer-citation.js'
export { readOffer } from './offer-table.js'

/** Methods that other nodes call: they send, ask and compare. */
export const HUB_SYNC_METHODS: readonly Method<
  Pick<SyncContext, 'caller' | 'signal' | 'feedReceiver' | 'feedGiver' | 'sumsAnswerer' | 'citationReceiver'>
>[] = [offerTable, offerCitation, askTable, tableSums]

/** Methods of what a node sends by itself, which a hub on engines does not have. */
export const SENDER_METHODS: readonly Method<SyncContext>[] = [
  createUpstream,
  listUpstreams,
  deleteUpstream,
  createFeed,
  listFeeds,
  updateFeed,
  deleteFeed,
  verify,
  resend,
]

/** Methods of `/api/v2/sync/jsonrpc`. */
export const SYNC_METHODS: readonly Method<SyncContext>[] = [...SENDER_METHODS, ...HUB_SYNC_METHODS]
