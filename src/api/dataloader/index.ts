import type { Method } from '../../rpc/define-method.js'
import { addRecord } from './add-record.js'
import { alterLoader } from './alter-loader.js'
import type { DataLoaderContext } from './context.js'
import { dropLoader } from './drop-loader.js'
import { getFile } from './get-file.js'
import { getLoaderList } from './get-loader-list.js'
import { initRecord } from './init-record.js'
import { registerLoader } from './register-loader.js'
import { listRetention, setRetention } from './retention.js'

export type { DataLoaderContext } from './context.js'

/** Methods of `/api/v1/dataloaderapi/jsonrpc`. */
export const LOADER_METHODS: readonly Method<DataLoaderContext>[] = [
  registerLoader,
  alterLoader,
  initRecord,
  addRecord,
  getLoaderList,
  dropLoader,
  setRetention,
  listRetention,
]

/** Methods of `/api/v1/getfileapi/jsonrpc`. */
export const GET_FILE_METHODS: readonly Method<DataLoaderContext>[] = [getFile]
