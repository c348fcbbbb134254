import type { Method } from '../../rpc/define-method.js'
import { announceModel } from './announce.js'
import type { FlContext } from './context.js'
import { feedback, requestTransfer } from './feedback.js'
import { cancelTransfer, getTransfer, listTransfers, retryTransfer } from './transfers.js'
import {
  createUpstreamInfo,
  deleteUpstreamInfo,
  getUpstreamInfo,
  listUpstreamInfo,
  updateUpstreamInfo,
} from './upstreams.js'

export type { AnnouncedModel, FlContext } from './context.js'
export type { AnnounceResult } from './schema.js'

/** Methods of models on their way up, which a hub on engines does not have: nothing is above it. */
export const OUTBOX_METHODS: readonly Method<FlContext>[] = [
  createUpstreamInfo,
  getUpstreamInfo,
  listUpstreamInfo,
  updateUpstreamInfo,
  deleteUpstreamInfo,
  feedback,
  requestTransfer,
  listTransfers,
  getTransfer,
  retryTransfer,
  cancelTransfer,
]

/** Methods of `/api/v2/fl/jsonrpc` that every hub has. */
export const HUB_FL_METHODS = [announceModel] as const

/** Methods of `/api/v2/fl/jsonrpc`. */
export const FL_METHODS: readonly Method<FlContext>[] = [...OUTBOX_METHODS, ...HUB_FL_METHODS]
