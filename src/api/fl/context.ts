import type { z } from 'zod'
import type { Caller } from '../../auth/caller.js'
import type { ModelStores } from '../../storage/models/model-stores.js'
import type { ModelRows } from '../../storage/models/models.js'
import type { TransferRows } from '../../storage/models/transfers.js'
import type { UpstreamRows } from '../../storage/models/upstreams.js'
import type { Outbox } from '../../sync/outbox.js'
import type { CallContext, SharedContext } from '../context.js'
import type { AnnounceResult } from './schema.js'

/** A model that another gateway announces. */
export interface AnnouncedModel {
  readonly sha256: string
  readonly sizeBytes: number
  /** data part of `model_store.model.put_feedback` */
  readonly data: unknown
  readonly bases?: readonly string[]
  readonly delta?: { base: string; sha256: string; sizeBytes: number }
}

/** Context of the methods of federated learning. */
export type FlContext = Pick<CallContext, 'caller' | 'signal'> &
  Pick<SharedContext, 'timeZoneMin' | 'clock' | 'config'> & {
    readonly models: ModelRows
    readonly modelStores: ModelStores
    readonly upstreams: UpstreamRows
    readonly transfers: TransferRows
    readonly outbox: Outbox
    /** returns the model_info of a model of this node */
    modelInfo(modelId: string): Promise<object | undefined>
    /** registers announced bytes that are stored, or returns where to send them; see `models/announce.ts` */
    announceUpload(announced: AnnouncedModel, caller: Caller): Promise<z.input<typeof AnnounceResult>>
  }
