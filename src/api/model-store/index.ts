import type { Method } from '../../rpc/define-method.js'
import type { ModelStoreContext } from './context.js'
import { deleteModel } from './delete-model.js'
import { getInfo } from './get-info.js'
import { createStore, deleteStore, listStores } from './stores.js'

export type { ModelStoreContext } from './context.js'
export { toModelInfo } from './model-info.js'
export { PUT_FEEDBACK, UPLOAD_METHODS } from './upload-methods.js'

/** Methods of `/api/v2/model_store/jsonrpc`. */
export const MODEL_STORE_METHODS: readonly Method<ModelStoreContext>[] = [
  getInfo,
  deleteModel,
  createStore,
  deleteStore,
  listStores,
]
