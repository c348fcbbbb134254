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

/** Methods of `/api/v2/fl/jsonrpc`. */
export const FL_METHODS: readonly Method<FlContext>[] = [
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
  announceModel,
]
