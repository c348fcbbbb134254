import type { ListQuery } from '../columns/list-query.js'

/** Context of the encrypted secret: another encrypted value in its place cannot be decrypted. */
export const UPSTREAM_SECRET_CONTEXT = 'upstream.secret'

/** Node to which the models of a store are fed back. Contains the secret in the clear: never log a record. */
export interface UpstreamRecord {
  upstreamId: number
  storeId: number
  storeName: string
  /** as given: a full `https://host/api/v2/fl/jsonrpc`, or a base URL */
  endpoint: string
  apikey: string
  /** null when it was encrypted with another key than that of the key file */
  secret: string | null
  /** name of the model store at the upstream */
  upstreamStore: string
  alias: string
  description: string
  isEnabled: boolean
  createdAtUs: number
  updatedAtUs: number
}

export type NewUpstream = Omit<
  UpstreamRecord,
  'upstreamId' | 'storeName' | 'secret' | 'createdAtUs' | 'updatedAtUs'
> & { secret: string }
/** A secret that is not among the changes stays as it is stored, also where it cannot be decrypted. */
export type UpstreamChange = Partial<NewUpstream>

/** Upstream information. Secrets are encrypted at rest. */
export interface UpstreamRows {
  create(upstream: NewUpstream): Promise<UpstreamRecord>
  find(upstreamId: number): Promise<UpstreamRecord | undefined>
  /** Returns the upstreams of a store in the order of their creation. */
  ofStore(storeId: number): Promise<UpstreamRecord[]>
  /** @throws AppError BAD_CONDITION with the position of the fault */
  list(query: ListQuery): Promise<UpstreamRecord[]>
  /** Returns the changed record; undefined for an unknown id. */
  update(upstreamId: number, change: UpstreamChange): Promise<UpstreamRecord | undefined>
  /** Returns the removed record; undefined for an unknown id. */
  remove(upstreamId: number): Promise<UpstreamRecord | undefined>
}
