import type { Method } from '../../rpc/define-method.js'
import { addRecord } from './add-record.js'
import { alterLoader } from './alter-loader.js'
import type { DataLoaderContext, HubLoaderContext } from './context.js'
import { dropLoader } from './drop-loader.js'
import { getFile } from './get-file.js'
import { getLoaderList } from './get-loader-list.js'
import { initRecord } from './init-record.js'
import { registerLoader } from './register-loader.js'
import { listRetention, setRetention } from './retention.js'

export type { DataLoaderContext, HubLoaderContext } from './context.js'

/** Methods of `/api/v1/dataloaderapi/jsonrpc` that a hub on engines has, too. */
export const HUB_LOADER_METHODS: readonly Method<HubLoaderContext>[] = [
  registerLoader,
  alterLoader,
  initRecord,
  addRecord,
  getLoaderList,
  dropLoader,
]

/** Methods of rows that go by themselves. */
export const RETENTION_METHODS: readonly Method<DataLoaderContext>[] = [setRetention, listRetention]

/** Methods of `/api/v1/dataloaderapi/jsonrpc`. */
export const LOADER_METHODS: readonly Method<DataLoaderContext>[] = [
  ...HUB_LOADER_METHODS,
  ...RETENTION_METHODS,
]

/** Methods of `/api/v1/getfileapi/jsonrpc`. */
export const GET_FILE_METHODS: readonly Method<HubLoaderContext>[] = [getFile]
