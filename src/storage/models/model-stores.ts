import type { ListQuery } from '../columns/list-query.js'

/** A named collection of models. */
export interface ModelStoreRecord {
  storeId: number
  name: string
  /** unique name with the creation time in epoch seconds, `name_1735754645.67` */
  longForm: string
  createdAtUs: number
}

/** Reason why a store cannot be removed. */
export interface StoreInUse {
  /** feedbacks and fetches of the store that are queued or running */
  waitingTransfers: number
}

/** Model stores. Every `name` is a short or a long form. */
export interface ModelStores {
  /** Returns undefined, and writes nothing, if the name is taken. */
  create(name: string): Promise<ModelStoreRecord | undefined>
  find(name: string): Promise<ModelStoreRecord | undefined>
  byId(storeId: number): Promise<ModelStoreRecord | undefined>
  /** @throws AppError BAD_CONDITION with the position of the fault */
  list(query: ListQuery): Promise<ModelStoreRecord[]>
  /**
   * Removes a store with its models and upstreams, unless a transfer of it waits.
   *
   * @returns the removed store; `StoreInUse` if it stays; undefined for an unknown name
   */
  remove(name: string): Promise<ModelStoreRecord | StoreInUse | undefined>
}

/** Returns the long form of a store that was made at an instant. */
export function longFormOf(name: string, atUs: number): string {
  return `${name}_${epochText(atUs)}`
}

/** Formats epoch seconds with up to six decimals, without trailing zeros: `1735754645.67`. */
function epochText(us: number): string {
  const whole = Math.floor(us / 1_000_000)
  const fraction = String(us - whole * 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return fraction === '' ? String(whole) : `${whole}.${fraction}`
}
