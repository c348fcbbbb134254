import { call } from '../core/rpc.js'

type Moment = { val: string }

export interface ModelInfo {
  model_id: string
  model_kind: string
  model_description: string
  model_meta: Record<string, unknown>
  model_sha256: string
  model_size: number
  model_state: number
  hop_count: number
  round: number
  end_datetime: Moment
  tenant_id: string
}

export interface StoreInfo {
  id: number
  model_store_ddc: string
  long_form: string
  created_at: Moment
}

export interface TransferInfo {
  id: number
  kind: 'feedback' | 'fetch'
  model_id: string | null
  upstream_id: number
  state: 'queued' | 'sending' | 'delivered' | 'failed'
  attempts: number
  bytes_sent: number
  size: number | null
  /** null when the model itself is carried */
  delta: { size: number | null } | null
  next_attempt_at: Moment | null
  last_error: string | null
  created_at: Moment
  finished_at: Moment | null
}

export interface UpstreamInfo {
  id: number
  model_store_dataset_id: number
  upstream_endpoint: string
  upstream_model_store_ddc: string
  alias: string
  enabled: boolean
}

const MOST_MODELS = 500
const MOST_TRANSFERS = 200

/** Reads all model stores. @throws CallFault */
export async function readStores(): Promise<StoreInfo[]> {
  return await call<StoreInfo[]>('model_store.list', {})
}

/** Reads the models of a store. @throws CallFault */
export async function readModels(store: string): Promise<ModelInfo[]> {
  return await call<ModelInfo[]>('model_store.model.get_info', { model_store_ddc: store, limit: MOST_MODELS })
}

/** Reads the newest transfers, newest first. @throws CallFault */
export async function readTransfers(): Promise<TransferInfo[]> {
  return await call<TransferInfo[]>('fl.list_transfers', { order: '-id', limit: MOST_TRANSFERS })
}

/**
 * Reads the transfers that are not delivered, the newest first. Those to an upstream that was removed are left
 * out: whoever removed it has given them up.
 *
 * @throws CallFault
 */
export async function readOpenTransfers(): Promise<TransferInfo[]> {
  const conds = { '<>': ['state', 'delivered'] }
  const [transfers, upstreams] = await Promise.all([
    call<TransferInfo[]>('fl.list_transfers', { conds, order: '-id', limit: MOST_TRANSFERS }),
    readUpstreams(),
  ])
  const isThere = new Set(upstreams.map(({ id }) => id))
  return transfers.filter(({ upstream_id }) => isThere.has(upstream_id))
}

/** Reads all upstreams. @throws CallFault */
export async function readUpstreams(): Promise<UpstreamInfo[]> {
  return await call<UpstreamInfo[]>('fl.list_upstream_info', {})
}
