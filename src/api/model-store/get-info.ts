import { z } from 'zod'
import { unknownStore } from '../../models/faults.js'
import { defineMethod } from '../../rpc/define-method.js'
import { ListParams, listQuery } from '../list-query.js'
import type { ModelStoreContext } from './context.js'
import { toListedInfo } from './model-info.js'
import { ListedModelInfo, StoreName } from './schema.js'

export const getInfo = defineMethod({
  name: 'model_store.model.get_info',
  summary: 'Models of a store, filtered, ordered and paged',
  scope: 'model:read',
  errors: ['UNKNOWN_STORE', 'BAD_CONDITION'],
  params: ListParams.extend({ model_store_ddc: StoreName }),
  result: z.array(ListedModelInfo),
  async handle({ model_store_ddc, ...query }, context: ModelStoreContext) {
    const store = await context.modelStores.find(model_store_ddc)
    if (store === undefined) throw unknownStore(model_store_ddc)
    const { signatures, timeZoneMin } = context
    const models = await context.models.list(
      store.storeId,
      listQuery(query, context),
      signatures.trustedHints,
    )
    return models.map((model) => toListedInfo(model, timeZoneMin, signatures))
  },
})
