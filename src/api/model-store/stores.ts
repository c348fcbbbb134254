import { z } from 'zod'
import { AppError } from '../../errors.js'
import { unknownStore } from '../../models/faults.js'
import { defineMethod } from '../../rpc/define-method.js'
import { ListParams, listQuery } from '../list-query.js'
import type { ModelStoreContext } from './context.js'
import { toStoreInfo } from './model-info.js'
import { StoreInfo, StoreName } from './schema.js'

type StoreContext = Pick<ModelStoreContext, 'modelStores' | 'timeZoneMin'>

export const createStore = defineMethod({
  name: 'model_store.create',
  summary: 'Creates a model store',
  scope: 'model:write',
  errors: ['STORE_EXISTS'],
  params: z.strictObject({ model_store_ddc: StoreName }),
  result: StoreInfo,
  async handle({ model_store_ddc }, { modelStores, timeZoneMin }: StoreContext) {
    const store = await modelStores.create(model_store_ddc)
    if (store === undefined) {
      const message = `A model store with the name ${JSON.stringify(model_store_ddc)} already exists`
      throw new AppError('STORE_EXISTS', { model_store_ddc }, { message })
    }
    return toStoreInfo(store, timeZoneMin)
  },
})

export const deleteStore = defineMethod({
  name: 'model_store.delete',
  summary: 'Removes a model store with its models and upstreams, unless a transfer of it waits',
  scope: 'model:write',
  errors: ['UNKNOWN_STORE', 'STORE_IN_USE'],
  params: z.strictObject({ model_store_ddc: StoreName }),
  result: StoreInfo,
  async handle({ model_store_ddc }, { modelStores, timeZoneMin }: StoreContext) {
    const removed = await modelStores.remove(model_store_ddc)
    if (removed === undefined) throw unknownStore(model_store_ddc)
    if ('waitingTransfers' in removed) {
      const { waitingTransfers } = removed
      const found = `${waitingTransfers} waiting transfer${waitingTransfers === 1 ? '' : 's'}`
      const message = `Found ${found} of the store, expected none: deliver or cancel them first`
      throw new AppError('STORE_IN_USE', { waitingTransfers }, { message })
    }
    return toStoreInfo(removed, timeZoneMin)
  },
})

export const listStores = defineMethod({
  name: 'model_store.list',
  summary: 'Model stores, filtered, ordered and paged',
  scope: 'model:read',
  errors: ['BAD_CONDITION'],
  params: ListParams,
  result: z.array(StoreInfo),
  async handle(params, context: Pick<ModelStoreContext, 'modelStores' | 'timeZoneMin' | 'clock'>) {
    const stores = await context.modelStores.list(listQuery(params, context))
    return stores.map((store) => toStoreInfo(store, context.timeZoneMin))
  },
})
